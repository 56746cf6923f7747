// Publishers use HostedModel's types; one import is enough.
@_exported public import func HostedConcurrency.performBlocking
@_exported public import HostedModel
@_exported public import struct HostedTrust.ReceiptVerificationKey

// Publishers use ContentModel's types; one import is enough.
@_exported public import func Concurrency.performBlocking
@_exported public import ContentModel
@_exported public import struct ContentTrust.ReceiptVerificationKey

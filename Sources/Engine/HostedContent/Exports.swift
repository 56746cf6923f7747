// Users of HostedContent need the types of ContentModel, so one import provides both.
@_exported public import func Concurrency.performBlocking
@_exported public import ContentModel
@_exported public import struct ContentTransfer.TransferLimits
@_exported public import struct ContentTransfer.TransferStatistics
@_exported public import struct ContentTransfer.TransferWait
@_exported public import struct ContentTrust.ReceiptVerificationKey

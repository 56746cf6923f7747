// Whoever links HostedContent speaks in ContentModel's values; one import must do.
@_exported public import ContentModel
@_exported public import struct ContentTransfer.TransferLimits
@_exported public import struct ContentTransfer.TransferStatistics
@_exported public import struct ContentTransfer.TransferWait

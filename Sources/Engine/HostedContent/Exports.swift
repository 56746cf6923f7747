// Users of HostedContent need the types of HostedModel, so one import provides both.
@_exported public import func HostedConcurrency.performBlocking
@_exported public import HostedCatalog
@_exported public import HostedModel
@_exported public import struct HostedTransfer.TransferLimits
@_exported public import struct HostedTransfer.TransferStatistics
@_exported public import struct HostedTransfer.TransferWait
@_exported public import struct HostedTrust.ReceiptVerificationKey
@_exported public import HostedSelling
@_exported public import protocol HostedShop.PurchaseDecider
@_exported public import enum HostedShop.PurchaseDecision
@_exported public import struct HostedShop.PurchaseRequest
@_exported public import struct HostedShop.PurchaseTerms
@_exported public import HostedStoreClient

package import ContentModel
package import StoreLedger

extension PurchaseRecord {
  /// The digest of the request that the buyer's queue repeats for an imported purchase.
  package var importedRequestDigest: Digest {
    get throws {
      try PurchaseRequest(
        transaction: transaction, account: account ?? "", product: product, quantity: quantity
      ).digest
    }
  }
}

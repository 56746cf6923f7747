/// Compares a seller's answer with its order, and contents with the product of the order.
extension Payment {
  /// Whether a grant of this payment answers `order`: the same product, quantity and account.
  package func answers(_ order: Payment) -> Bool {
    productIdentifier == order.productIdentifier && quantity == order.quantity
      && applicationUsername == order.applicationUsername
  }
}

extension ContentOffer {
  /// The offer, or only its name and the reason if it belongs to another product than `product`.
  func checked(for product: ProductIdentifier) -> ContentOffer {
    guard productIdentifier != product else { return self }
    return unresolved(for: product, because: .notOffered(contentIdentifier, of: product))
  }
}

extension ContentError {
  /// The seller's answer is a grant of something else than was ordered.
  static func answerMismatch(_ answer: Payment, to order: Payment) -> ContentError {
    let isOfAccount = answer.applicationUsername == order.applicationUsername
    return ContentError(
      .answerMismatch,
      "The seller's answer does not match the order: expected \(order.quantity) of "
        + "\(order.productIdentifier), found \(answer.quantity) of \(answer.productIdentifier)"
        + (isOfAccount ? "" : " for another account"),
      remedy: "Report it to the seller; a purchase that was paid for can be restored",
      subject: order.productIdentifier.rawValue)
  }

  /// The seller's number of a purchase has answered another order.
  package static func numberReused(_ number: String) -> ContentError {
    ContentError(
      .answerMismatch,
      "The seller's answer has the transaction number \(number), which answered another order",
      remedy: "Report it to the seller; a purchase that was paid for can be restored")
  }

  /// A seller names a content that the catalog does not have for the product.
  package static func notOffered(
    _ content: ProductIdentifier, of product: ProductIdentifier
  ) -> ContentError {
    ContentError(
      .answerMismatch, "The store does not offer the content \(content) for \(product)",
      remedy: "Start the download again once the store offers it, or finish the transaction",
      subject: product.rawValue)
  }
}

/// Compares a seller's response with its order, and contents with the product of the order.
extension Payment {
  /// Returns whether a grant of this payment matches `order` in product, quantity and account.
  package func answers(_ order: Payment) -> Bool {
    productIdentifier == order.productIdentifier && quantity == order.quantity
      && applicationUsername == order.applicationUsername
  }

  /// The difference to `order`, as a clause of an error.
  package func difference(from order: Payment) -> String {
    let isOfAccount = applicationUsername == order.applicationUsername
    return "expected \(order.quantity) of \(order.productIdentifier), found \(quantity) of "
      + "\(productIdentifier)\(isOfAccount ? "" : " for another account")"
  }
}

extension ContentOffer {
  /// Returns the offer, or an unresolved offer if it belongs to another product.
  func checked(for product: ProductIdentifier) -> ContentOffer {
    guard productIdentifier != product else { return self }
    return unresolved(for: product, because: .notOffered(contentIdentifier, of: product))
  }
}

extension ContentError {
  /// The seller's response grants something other than the order.
  static func answerMismatch(_ answer: Payment, to order: Payment) -> ContentError {
    ContentError(
      .answerMismatch,
      "The seller's response does not match the order: \(answer.difference(from: order))",
      remedy: "Report it to the seller. Restore the purchase if it was paid for",
      subject: order.productIdentifier.rawValue)
  }

  /// The seller used the number of another order.
  package static func numberReused(_ number: String) -> ContentError {
    ContentError(
      .answerMismatch,
      "The seller's response has the transaction number \(number) of another order",
      remedy: "Report it to the seller. Restore the purchase if it was paid for")
  }

  /// The catalog does not have the content that the seller named for the product.
  package static func notOffered(
    _ content: ProductIdentifier, of product: ProductIdentifier
  ) -> ContentError {
    ContentError(
      .answerMismatch, "The store does not offer the content \(content) for \(product)",
      remedy: "Start the download again once the store offers it, or finish the transaction",
      subject: product.rawValue)
  }
}

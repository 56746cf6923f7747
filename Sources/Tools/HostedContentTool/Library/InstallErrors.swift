import ContentModel

extension ContentError {
  static func deferred(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .notEntitled, "The purchase of \(product) waits for a decision",
      remedy: "Run the command again once it was decided", subject: product.rawValue)
  }

  static func downloadsStopped(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .stopped, "The downloads of \(product) were stopped", remedy: "Run the command again",
      subject: product.rawValue)
  }

  static func notDelivered(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .inconsistent, "\(product) was sold, but its offered version is still not installed",
      remedy: "Look at hostedcontent list and queue, and report what they say",
      subject: product.rawValue)
  }

  static func filesMissing(
    _ content: ProductIdentifier, _ installed: ContentVersion, offered: ContentVersion
  ) -> ContentError {
    ContentError(
      .contentDamaged,
      "Files of \(content) \(installed) are missing, and the store offers only \(offered)",
      remedy: "Run hostedcontent remove \(content) \(installed), then get it again",
      subject: content.rawValue)
  }

  func askingForAccount() -> ContentError {
    ContentError(
      code, message,
      remedy: "Name the account that bought it with --account, or use hostedcontent get",
      subject: subject, cause: cause)
  }

  /// The same error with the product's name in it: a message about a file alone would not say which
  /// of several products is not installed.
  func naming(_ product: ProductIdentifier) -> ContentError {
    guard !description.contains(product.rawValue) else { return about(product.rawValue) }
    return ContentError(
      code, "\(product): \(message)", remedy: remedy, subject: product.rawValue, cause: cause)
  }

  /// The same error, with what it kept from being installed.
  func before(_ products: [ProductIdentifier]) -> ContentError {
    let names = products.map(\.rawValue).sorted().joined(separator: ", ")
    return ContentError(
      code, "\(message); not installed: \(names)", remedy: remedy, subject: subject, cause: cause)
  }
}

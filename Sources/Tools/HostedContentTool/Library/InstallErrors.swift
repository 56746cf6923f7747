import HostedModel

extension ContentError {
  static func deferred(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .notEntitled, "The purchase of \(product) waits for a decision",
      remedy: "Run the command again after the decision", subject: product.rawValue)
  }

  static func downloadsStopped(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .stopped, "The downloads of \(product) were stopped", remedy: "Run the command again",
      subject: product.rawValue)
  }

  static func notDelivered(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .inconsistent, "\(product) was sold, but its offered version is still not installed",
      remedy: "Report a bug with the output of hostedcontent list and hostedcontent queue",
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
      remedy: "Specify the account that bought it with --account, or use hostedcontent get",
      subject: subject, cause: cause)
  }

  /// Returns the error with the products that it prevented from being installed.
  func before(_ products: [ProductIdentifier]) -> ContentError {
    let names = products.map(\.rawValue).sorted().joined(separator: ", ")
    return ContentError(
      code, "\(message); not installed: \(names)", remedy: remedy, subject: subject, cause: cause)
  }
}

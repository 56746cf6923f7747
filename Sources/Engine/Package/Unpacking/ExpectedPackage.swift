package import HostedModel

/// The package that the signed catalog describes; unpacking any other package fails.
package struct ExpectedPackage: Sendable {
  /// The values that ContentInfo.plist must have.
  private let info: ContentInfo
  /// The exact entries of the package, or nil without an index.
  let entries: [IndexedFile]?

  package init(_ info: ContentInfo, entries: [IndexedFile]?) {
    self.info = info
    self.entries = entries
  }

  /// Throws `wrongProduct` or `wrongVersion` if ContentInfo.plist has other values.
  func check(_ found: ContentInfo, in name: String) throws {
    if found.productIdentifier != info.productIdentifier {
      throw ContentError(
        .wrongProduct,
        "\(name) contains product \(found.productIdentifier), expected \(info.productIdentifier)",
        remedy: "Publish the correct package for the product", subject: name)
    }
    if found.contentIdentifier != info.contentIdentifier {
      throw ContentError(
        .wrongProduct,
        "\(name) contains content \(found.contentIdentifier) of \(found.productIdentifier), "
          + "expected \(info.contentIdentifier)",
        remedy: "Publish the correct package for the content", subject: name)
    }
    if found.version != info.version {
      throw ContentError(
        .wrongVersion, "\(name) contains version \(found.version), expected \(info.version)",
        remedy: "Publish the package with the version that it contains", subject: name)
    }
  }
}

extension ContentError {
  /// Returns the error for a file that does not match the signed index of the package `name`.
  static func differs(
    _ path: String, _ verb: String = "does not match", in name: String
  ) -> ContentError {
    ContentError(
      .indexMismatch, "\(name): “\(path)” \(verb) the signed index",
      remedy: "Fetch the package again. If the error persists, publish the package again",
      subject: name)
  }
}

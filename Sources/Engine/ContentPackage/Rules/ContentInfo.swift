package import ContentModel
import FoundationEssentials

/// What `ContentInfo.plist` says of the content.
package struct ContentInfo: Hashable, Sendable {
  /// The file's name at the content's root.
  package static let fileName = "ContentInfo.plist"
  /// The file may not be longer, in bytes.
  package static let maximumLength = 1 << 20

  /// The key `IAPProductIdentifier`.
  package let productIdentifier: ProductIdentifier
  /// The key `HCContentIdentifier`; the product's identifier when it is absent.
  package let contentIdentifier: ProductIdentifier
  /// The key `ContentVersion`.
  package let version: ContentVersion

  /// Creates the values; nil is the product's own content.
  package init(
    productIdentifier: ProductIdentifier, contentIdentifier: ProductIdentifier? = nil,
    version: ContentVersion
  ) {
    self.productIdentifier = productIdentifier
    self.contentIdentifier = contentIdentifier ?? productIdentifier
    self.version = version
  }

  /// Reads an XML or binary property list; `contentInfoInvalid` when it breaks a rule.
  ///
  /// Keys other than the three are ignored.
  package init(propertyList bytes: [UInt8]) throws {
    try PropertyListShape.check(bytes)
    let keys: Keys
    do {
      keys = try PropertyListDecoder().decode(Keys.self, from: Data(bytes))
    } catch DecodingError.keyNotFound(let key, _) {
      throw Self.invalid("it lacks the key \(key.stringValue)")
    } catch DecodingError.typeMismatch(_, let context) {
      let key = context.codingPath.last?.stringValue
      throw Self.invalid(key.map { "\($0) is no string" } ?? "it is no dictionary")
    } catch {
      throw Self.invalid("it is no well-formed property list", cause: "\(error)")
    }
    do {
      try self.init(
        productIdentifier: ProductIdentifier(validating: keys.IAPProductIdentifier),
        contentIdentifier: keys.HCContentIdentifier.map { try Self.contentIdentifier($0) },
        version: ContentVersion(validating: keys.ContentVersion))
    } catch let error as ContentError where error.code != .contentInfoInvalid {
      throw Self.invalid(error.message)
    }
  }

  // The names are the property list's own.
  private struct Keys: Decodable {
    let ContentVersion: String
    let IAPProductIdentifier: String
    let HCContentIdentifier: String?
  }

  /// Checks the value of `HCContentIdentifier`, which keeps the rules of product identifiers.
  static func contentIdentifier(_ text: String) throws -> ProductIdentifier {
    do {
      return try ProductIdentifier(validating: text)
    } catch let error as ContentError {
      throw ContentError(
        .contentInfoInvalid,
        "ContentInfo.plist is refused: HCContentIdentifier breaks the rules: \(error.message)",
        remedy: "\(error.remedy), or leave the key out for the product's own content",
        subject: fileName)
    }
  }

  static func invalid(_ reason: String, cause: String? = nil) -> ContentError {
    ContentError(
      .contentInfoInvalid, "ContentInfo.plist is refused: \(reason)",
      remedy: "Give it the strings ContentVersion, such as 1.0, and IAPProductIdentifier",
      subject: fileName, cause: cause.map { String($0.prefix(300)) })
  }
}

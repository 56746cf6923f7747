package import HostedModel
import FoundationEssentials

/// The values of `ContentInfo.plist`.
package struct ContentInfo: Hashable, Sendable {
  /// The name of the file at the content's root.
  package static let fileName = "ContentInfo.plist"
  /// The maximum length of the file in bytes.
  package static let maximumLength = 1 << 20

  /// The value of the key `IAPProductIdentifier`.
  package let productIdentifier: ProductIdentifier
  /// The value of the key `HCContentIdentifier`, or the product's identifier if it is absent.
  package let contentIdentifier: ProductIdentifier
  /// The value of the key `ContentVersion`.
  package let version: ContentVersion

  /// Creates the values; a nil `contentIdentifier` means the product's own content.
  package init(
    productIdentifier: ProductIdentifier, contentIdentifier: ProductIdentifier? = nil,
    version: ContentVersion
  ) {
    self.productIdentifier = productIdentifier
    self.contentIdentifier = contentIdentifier ?? productIdentifier
    self.version = version
  }

  /// Reads an XML or binary property list.
  ///
  /// Throws `contentInfoInvalid` if it is invalid. Other keys are ignored.
  package init(propertyList bytes: [UInt8]) throws {
    try PropertyListShape.check(bytes)
    let keys: Keys
    do {
      keys = try PropertyListDecoder().decode(Keys.self, from: Data(bytes))
    } catch DecodingError.keyNotFound(let key, _) {
      throw Self.invalid("the key \(key.stringValue) is missing")
    } catch DecodingError.typeMismatch(_, let context) {
      let key = context.codingPath.last?.stringValue
      throw Self.invalid(key.map { "\($0) is not a string" } ?? "it is not a dictionary")
    } catch {
      throw Self.invalid("it is not a well-formed property list", cause: "\(error)")
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

  // The names of the keys in the property list.
  private struct Keys: Decodable {
    let ContentVersion: String
    let IAPProductIdentifier: String
    let HCContentIdentifier: String?
  }

  /// Checks the value of `HCContentIdentifier`; it has the rules of product identifiers.
  static func contentIdentifier(_ text: String) throws -> ProductIdentifier {
    do {
      return try ProductIdentifier(validating: text)
    } catch let error as ContentError {
      throw ContentError(
        .contentInfoInvalid,
        "ContentInfo.plist is invalid: HCContentIdentifier: \(error.message)",
        remedy: "\(error.remedy), or remove the key if this is the product's own content",
        subject: fileName)
    }
  }

  static func invalid(_ reason: String, cause: String? = nil) -> ContentError {
    ContentError(
      .contentInfoInvalid, "ContentInfo.plist is invalid: \(reason)",
      remedy: "Set the strings ContentVersion, such as 1.0, and IAPProductIdentifier",
      subject: fileName, cause: cause.map { String($0.prefix(300)) })
  }
}

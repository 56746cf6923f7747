public import FoundationEssentials

/// An installed version of a content package.
public struct InstalledContent: Hashable, Codable, Sendable {
  /// The content's identifier, and the name of its folder in `products`.
  public let contentIdentifier: ProductIdentifier
  /// The product that the content belongs to.
  public let productIdentifier: ProductIdentifier
  /// The version, and the name of its folder.
  public let version: ContentVersion
  /// The size of all files in bytes.
  public let size: Int64
  /// The number of files, folders and links.
  public let entryCount: Int
  /// The date of the install.
  public let date: Date

  /// Creates a record.
  public init(
    contentIdentifier: ProductIdentifier, productIdentifier: ProductIdentifier,
    version: ContentVersion, size: Int64, entryCount: Int, date: Date
  ) {
    self.contentIdentifier = contentIdentifier
    self.productIdentifier = productIdentifier
    self.version = version
    self.size = size
    self.entryCount = entryCount
    self.date = date
  }
}

extension InstalledContent: CustomStringConvertible {
  /// The content, its version and its size.
  public var description: String { "\(contentIdentifier) \(version) (\(size) bytes)" }
}

/// A content and one of its versions.
public struct ContentKey: Hashable, Codable, Sendable {
  /// The content's identifier.
  public let contentIdentifier: ProductIdentifier
  /// The version.
  public let version: ContentVersion

  /// Creates a key.
  public init(_ contentIdentifier: ProductIdentifier, version: ContentVersion) {
    self.contentIdentifier = contentIdentifier
    self.version = version
  }
}

extension ContentKey: CustomStringConvertible {
  /// The content and its version, such as `com.example.book 1.0`.
  public var description: String { "\(contentIdentifier) \(version)" }
}

import HostedModel
import HostedFileIO
import FoundationEssentials

/// The ContentInfo.plist of a package that is built.
struct ContentInfoDocument {
  let info: ContentInfo
  let bytes: [UInt8]

  private static let contentKey = "HCContentIdentifier"

  /// Reads the file in `folder`, and replaces the values that are given.
  ///
  /// Correct bytes are kept. If the file does not exist, it is created from product and version.
  /// Messages use `name` for the folder.
  init(
    of folder: Directory, name: String, product: ProductIdentifier?, content: ProductIdentifier?,
    version: ContentVersion?
  ) throws {
    let found = try nilIf(.fileMissing) {
      try folder.contents(of: ContentInfo.fileName, limit: Int64(ContentInfo.maximumLength))
    }
    let known: ContentInfo?
    do {
      known = try found.map { try ContentInfo(propertyList: $0) }
    } catch  where product != nil && version != nil {
      // Both keys are replaced, so they may be missing. The rest must still be well-formed.
      known = nil
    }
    guard let product = product ?? known?.productIdentifier, let version = version ?? known?.version
    else {
      throw ContentError(
        .contentInfoInvalid, "ContentInfo.plist not found in \(name)",
        remedy: "Add the file, or set both the product identifier and the content version",
        subject: name)
    }
    info = ContentInfo(
      productIdentifier: product,
      contentIdentifier: try content ?? found.flatMap { try Self.keptContent(known, $0) },
      version: version)
    if let found, let known, known == info, known.version.rawValue == version.rawValue {
      bytes = found
    } else {
      bytes = try Self.list(of: info, changing: found.map { try Self.values(in: $0) } ?? [:])
    }
  }

  /// Returns a property list with the values of `info`, and the other keys of `values`.
  private static func list(of info: ContentInfo, changing values: [String: PropertyListValue])
    throws -> [UInt8]
  {
    var values = values
    values["IAPProductIdentifier"] = .string(info.productIdentifier.rawValue)
    values["ContentVersion"] = .string(info.version.rawValue)
    values[contentKey] =
      info.contentIdentifier == info.productIdentifier
      ? nil : .string(info.contentIdentifier.rawValue)
    return try PropertyListValue.dictionary(values).document
  }

  /// Returns the content that the list on disk names.
  ///
  /// Nil if it is the product's own content. If `known` is nil, the list lacks other keys. This key
  /// is still kept, or rejected if invalid.
  private static func keptContent(_ known: ContentInfo?, _ bytes: [UInt8]) throws
    -> ProductIdentifier?
  {
    if let known {
      return known.contentIdentifier == known.productIdentifier ? nil : known.contentIdentifier
    }
    switch try values(in: bytes)[contentKey] {
    case nil: return nil
    case .string(let text): return try ContentInfo.contentIdentifier(text)
    default: throw ContentInfo.invalid("\(contentKey) is not a string")
    }
  }

  /// Returns all keys of a property list; throws `contentInfoInvalid` for anything else.
  private static func values(in bytes: [UInt8]) throws -> [String: PropertyListValue] {
    try PropertyListShape.check(bytes)
    do {
      return try PropertyListDecoder().decode([String: PropertyListValue].self, from: Data(bytes))
    } catch {
      throw ContentInfo.invalid("it is not a well-formed property list", cause: "\(error)")
    }
  }
}

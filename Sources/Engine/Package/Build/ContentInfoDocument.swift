import FoundationEssentials
import HostedFileIO
import HostedModel

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

  /// Returns an XML property list with the values of `info`, and the other keys of `values`.
  private static func list(of info: ContentInfo, changing values: [String: PropertyListValue])
    throws -> [UInt8]
  {
    var values = values
    values["IAPProductIdentifier"] = .string(info.productIdentifier.rawValue)
    values["ContentVersion"] = .string(info.version.rawValue)
    values[contentKey] =
      info.contentIdentifier == info.productIdentifier
      ? nil : .string(info.contentIdentifier.rawValue)
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .xml
    // Keys are sorted, so the same values always have the same bytes.
    return Array(try encoder.encode(PropertyListValue.dictionary(values)))
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

/// Any value of a property list; it can be changed and written again.
private indirect enum PropertyListValue: Codable {
  case dictionary([String: PropertyListValue])
  case array([PropertyListValue])
  case string(String)
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case data(Data)
  case date(Date)

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    func decoded<Part: Decodable>(_ make: (Part) -> Self) -> Self? {
      (try? value.decode(Part.self)).map(make)
    }
    self =
      if let list = decoded(Self.dictionary) ?? decoded(Self.array) {
        list
      } else if let text = decoded(Self.string) ?? decoded(Self.date) {
        text
      } else if let number = decoded(Self.boolean) ?? decoded(Self.integer) ?? decoded(Self.real) {
        number
      } else {
        .data(try value.decode(Data.self))
      }
  }

  func encode(to encoder: any Encoder) throws {
    // Only the encoder's own container writes Data and Date as elements.
    var container = encoder.singleValueContainer()
    switch self {
    case .dictionary(let values): try container.encode(values)
    case .array(let values): try container.encode(values)
    case .string(let value): try container.encode(value)
    case .boolean(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .real(let value): try container.encode(value)
    case .data(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    }
  }
}

import FoundationEssentials
package import HostedModel

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

/// Checks of a property list from outside before the decoder reads it.
///
/// The decoder reads data that are neither XML nor binary as an old-style property list. It
/// recurses into nested lists without a limit, until the stack overflows.
enum PropertyListShape {
  fileprivate static let depthLimit = 64
  fileprivate static let tooDeep = ContentInfo.invalid("it is nested too deeply")

  /// Throws `contentInfoInvalid` unless `bytes` may be decoded.
  static func check(_ bytes: [UInt8]) throws {
    guard bytes.count <= ContentInfo.maximumLength else {
      throw ContentInfo.invalid("it has \(bytes.count) bytes; the limit is 1 MiB")
    }
    if bytes.starts(with: Array("bplist00".utf8)) { return try BinaryListShape.check(bytes) }
    let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
    let text = (bytes.starts(with: byteOrderMark) ? bytes[3...] : bytes[...])
      .drop { $0 == 32 || (9...13).contains($0) }
    let beginnings = ["<?xml", "<!DOCTYPE plist", "<plist", "<!--"]
    guard beginnings.contains(where: { text.starts(with: Array($0.utf8)) }) else {
      throw ContentInfo.invalid(
        bytes.isEmpty ? "it is empty" : "it is not an XML or binary property list")
    }
    try checkNesting(text)
  }

  private static func checkNesting(_ xml: ArraySlice<UInt8>) throws {
    // The start and end of constructs that hide tags from the decoder.
    let hiding = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
    var rest = xml
    var depth = 0
    while let opening = rest.firstIndex(of: UInt8(ascii: "<")) {
      rest = rest[opening...]
      if let (begin, end) = hiding.first(where: { rest.starts(with: Array($0.0.utf8)) }) {
        rest = rest.dropFirst(begin.utf8.count).bytes(after: end)
        continue
      }
      let tag = rest.prefix { $0 != UInt8(ascii: ">") }
      if tag.starts(with: Array("<!".utf8)), tag.contains(UInt8(ascii: "[")) {
        throw ContentInfo.invalid("it has an internal document type declaration")
      }
      if tag.starts(with: Array("</".utf8)) {
        depth = max(0, depth - 1)
      } else if tag.last != UInt8(ascii: "/"), !tag.starts(with: Array("<!".utf8)) {
        depth += 1
      }
      guard depth <= depthLimit else { throw tooDeep }
      rest = rest.dropFirst(max(tag.count, 1))
    }
  }
}

/// A check of a binary property list before the decoder reads it.
///
/// The parts of such a list refer to each other by number: a part can contain itself, be in many
/// others, or overlap others. The decoder copies each part every time that it is referred to, and
/// recurses without a limit. Source: the format `bplist00`, as CFBinaryPList.c describes it.
private struct BinaryListShape {
  private static let trailerLength = 32

  private let bytes: [UInt8]
  /// The start offset of the table of offsets, which has one for each of `count` parts.
  private let table: Int
  private let count: Int
  /// The bytes of an offset in the table, and of a reference to a part.
  private let offsetWidth: Int
  private let referenceWidth: Int
  /// The bytes of all parts so far, each counted as often as it is referred to.
  private var total = 0

  /// Throws `contentInfoInvalid` if the list is malformed, nested too deeply, or too long with each
  /// part in each place that refers to it.
  static func check(_ bytes: [UInt8]) throws {
    let trailer = bytes.suffix(trailerLength)
    guard trailer.count == trailerLength else { throw malformed }
    let numbers = [8, 16, 24].map { Int(clamping: trailer.bigEndian($0, 8)) }
    guard max(numbers[0], numbers[2]) <= bytes.count else { throw malformed }
    let widths = trailer.part(6, 2).map { Int($0) }
    var shape = BinaryListShape(
      bytes: bytes, table: numbers[2], count: numbers[0], offsetWidth: widths[0],
      referenceWidth: widths[1])
    try shape.visit(numbers[1], depth: 1)
  }

  private mutating func visit(_ part: Int, depth: Int) throws {
    guard part < count else { throw Self.malformed }
    guard depth <= PropertyListShape.depthLimit else { throw PropertyListShape.tooDeep }
    let offset = try number(at: table + part * offsetWidth, width: offsetWidth)
    let marker = try number(at: offset, width: 1)
    var (start, length) = (offset + 1, marker & 15)
    let kind = marker >> 4
    if length == 15, kind > 3 {
      // A longer length follows as a number, whose marker has the exponent of its width.
      let width = 1 << (try number(at: start, width: 1) & 15)
      length = try number(at: start + 1, width: width)
      start += 1 + width
    }
    guard length <= bytes.count else { throw Self.malformed }
    // Of arrays, sets and dictionaries.
    let references = kind == 10 || kind == 12 ? length : kind == 13 ? 2 * length : 0
    total += 1 + (references > 0 ? references : length)
    guard total <= ContentInfo.maximumLength else {
      throw ContentInfo.invalid("its values have more than 1 MiB, counted where they occur")
    }
    for index in 0..<references {
      let place = start + index * referenceWidth
      try visit(number(at: place, width: referenceWidth), depth: depth + 1)
    }
  }

  /// Returns the number at `offset`; throws if it is not in the list, or is too large.
  private func number(at offset: Int, width: Int) throws -> Int {
    guard width <= 8, offset <= bytes.count - width,
      let number = Int(exactly: bytes.bigEndian(offset, width))
    else { throw Self.malformed }
    return number
  }

  private static let malformed = ContentInfo.invalid("it is not a well-formed property list")
}

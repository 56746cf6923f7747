/// A name and a value of a URL's query.
struct QueryParameter: Hashable {
  let name: String
  let value: String

  init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// A parameter that no server reads; caches on the way go by the whole URL, which it makes new.
  static var unique: Self { Self("fresh", "\(UInt64.random(in: .min ... .max))") }

  /// A value that is one word of ASCII letters, digits and underscores; else throws `queryInvalid`.
  init(_ name: String, word: String) throws {
    let isWord =
      (1...60).contains(word.utf8.count)
      && word.utf8.allSatisfy { Self.isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
    guard isWord else {
      throw ContentError(
        .queryInvalid, "“\(word.printable(limit: 60))” cannot be a value of \(name)",
        remedy: "Use one of the words that the server documents")
    }
    self.init(name, word)
  }

  /// What look-ups and searches share.
  static func common(country: CountryCode?, entity: String?, limit: Int?) throws -> [Self] {
    var parameters: [Self] = []
    if let country { parameters.append(Self("country", country.rawValue)) }
    if let entity { parameters.append(try Self("entity", word: entity)) }
    if let limit {
      guard (1...200).contains(limit) else {
        throw ContentError(
          .queryInvalid, "A limit is 1 to 200 results, not \(limit)",
          remedy: "Ask several times for more")
      }
      parameters.append(Self("limit", "\(limit)"))
    }
    return parameters
  }

  /// `name=value` with everything escaped that is no unreserved character (RFC 3986), also the plus
  /// sign, which servers read as a space.
  var encoded: String { "\(Self.escape(name))=\(Self.escape(value))" }

  private static func escape(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isLetterOrDigit(byte) || "-._~".utf8.contains(byte) {
        bytes.append(byte)
      } else {
        bytes += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}

/// The attributes and entities of a xar table, which is XML.
enum XarMarkup {
  struct Attribute {
    let name: String
    let value: String

    /// Parses `name="value"`; nil for all other spellings, such as with blanks or entities.
    ///
    /// A name with a prefix is one of them, because libarchive ignores the prefix.
    init?(_ word: ArraySlice<UInt8>) {
      guard let sign = word.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      let (name, quoted) = (word[..<sign], word[(sign + 1)...])
      guard let quote = quoted.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
        quoted.count > 1, quoted.last == quote, !name.contains(UInt8(ascii: ":"))
      else { return nil }
      let value = quoted.dropFirst().dropLast()
      guard !value.contains(quote), !value.contains(UInt8(ascii: "&")) else { return nil }
      self.name = String(decoding: name, as: UTF8.self)
      self.value = String(decoding: value, as: UTF8.self)
    }
  }

  /// Returns `text` with the characters that its entities mean, or nil if one is unknown.
  static func unescaped(_ text: [UInt8]) -> String? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: UInt8(ascii: "&")) {
      guard let end = rest[start...].firstIndex(of: UInt8(ascii: ";")),
        let character = character(String(decoding: rest[(start + 1)..<end], as: UTF8.self))
      else { return nil }
      bytes += rest[..<start]
      bytes += character.utf8
      rest = rest[(end + 1)...]
    }
    return String(decoding: bytes + rest, as: UTF8.self)
  }

  /// Returns the character that a predefined entity or a character reference means.
  private static func character(_ entity: String) -> String? {
    let named = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    guard entity.hasPrefix("#") else { return named[entity] }
    let number =
      entity.hasPrefix("#x")
      ? UInt32(entity.dropFirst(2), radix: 16) : UInt32(entity.dropFirst())
    return number.flatMap { Unicode.Scalar($0) }.map { String(Character($0)) }
  }
}

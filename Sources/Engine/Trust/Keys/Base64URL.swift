import FoundationEssentials

/// The base64url encoding without padding (RFC 4648, section 5; RFC 7515, section 2).
package enum Base64URL {
  package static func text(of bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString(options: [.base64URLAlphabet, .omitPaddingCharacter])
  }

  /// Decodes `text`.
  ///
  /// Returns nil for padding, other characters, or unused bits that are not zero. No two texts
  /// therefore decode to the same bytes.
  package static func bytes(of text: some StringProtocol) -> [UInt8]? {
    // Foundation only decodes the standard alphabet, with padding.
    var standard = Data(
      text.utf8.map { character in
        switch character {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: character
        }
      })
    standard.append(
      contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - standard.count % 4) % 4))
    guard let bytes = Data(base64Encoded: standard).map(Array.init),
      self.text(of: bytes).utf8.elementsEqual(text.utf8)
    else { return nil }
    return bytes
  }
}

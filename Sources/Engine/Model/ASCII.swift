extension UInt8 {
  /// Whether it is an ASCII digit.
  package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// Whether it is an ASCII letter of either case.
  package var isLetter: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
  }

  /// Whether it is an ASCII letter or digit.
  package var isLetterOrDigit: Bool { isDigit || isLetter }
}

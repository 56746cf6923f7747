// External text (titles, names, paths, messages of servers and clients) is stored unchanged. These
// functions make it safe to print or log.

extension Unicode.Scalar {
  /// Whether the character is safe to print.
  ///
  /// Control characters (Cc) can control a terminal. Format characters (Cf) can reverse text or are
  /// invisible. Line and paragraph separators (Zl, Zp) start a new line. Unassigned characters (Cn)
  /// may become any of these. Private ones (Co) are allowed, because some systems use one for a
  /// logo.
  package var isPrintable: Bool {
    // Printable ASCII and variation selectors (❤ and ❤️).
    if (0x20...0x7e).contains(value) || (0xfe00...0xfe0f).contains(value) { return true }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
      return false
    // Invisible characters of other categories, such as U+3164.
    default: return !properties.isDefaultIgnorableCodePoint
    }
  }
}

extension StringProtocol {
  /// Returns the text as one safe line of at most `limit` Unicode scalars.
  ///
  /// Line breaks and tabs become spaces; other unprintable characters become U+FFFD, which splits
  /// joined emoji. Longer text ends with an ellipsis. At most eight combining marks in a row are
  /// kept.
  package func printable(limit: Int = 4_000) -> String {
    // The compiler does not specialize a loop over the view for callers in other modules.
    let isPlain =
      utf8.withContiguousStorageIfAvailable { bytes in
        bytes.count <= limit && bytes.allSatisfy { (0x20...0x7e).contains($0) }
      } ?? false
    if isPlain { return String(self) }
    var shown = String.UnicodeScalarView()
    var count = 0
    var marks = 0
    for scalar in unicodeScalars {
      if count == limit {
        shown.append("…")
        break
      }
      // A mark is drawn on the previous character.
      let category = scalar.properties.generalCategory
      marks = [.nonspacingMark, .enclosingMark].contains(category) ? marks + 1 : 0
      guard marks <= 8 else { continue }
      let replacement: Unicode.Scalar = scalar.properties.isWhitespace ? " " : "\u{fffd}"
      shown.append(scalar.isPrintable ? scalar : replacement)
      count += 1
    }
    return String(shown)
  }
}

extension UInt8 {
  package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// Whether it is an ASCII letter of either case.
  package var isLetter: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
  }

  package var isLetterOrDigit: Bool { isDigit || isLetter }
}

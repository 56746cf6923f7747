// Text from elsewhere (titles, names, paths, what a server or client sent) is data: it is kept as
// it came. These functions make it safe at the moment when it is printed or logged.

extension Unicode.Scalar {
  /// Whether a person sees it as what it is.
  ///
  /// Control characters (Cc) steer a terminal, format characters (Cf) turn the direction of text
  /// around or are invisible, line and paragraph separators (Zl, Zp) begin a new line. Unassigned
  /// ones (Cn) may become any of these. Private ones (Co) are only drawn, and some systems have a
  /// logo there.
  package var isPrintable: Bool {
    // Printable ASCII, and the choice between a character's text and picture form (❤ and ❤️).
    if (0x20...0x7e).contains(value) || (0xfe00...0xfe0f).contains(value) { return true }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
      return false
    // Invisible characters of other categories, such as U+3164.
    default: return !properties.isDefaultIgnorableCodePoint
    }
  }

  /// Whether it is drawn over the character before.
  fileprivate var isMark: Bool {
    [.nonspacingMark, .enclosingMark].contains(properties.generalCategory)
  }
}

extension StringProtocol {
  /// The text as one line that can be printed and logged, in at most `limit` characters.
  ///
  /// A line break or tab becomes a space, any other character that is not printable U+FFFD; an
  /// emoji that is joined from several falls apart into them. Characters are Unicode scalars. A
  /// longer text ends in an ellipsis, and of combining marks the first eight in a row are kept.
  package func printable(limit: Int = 4_000) -> String {
    if utf8.count <= limit, utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { return String(self) }
    var shown = String.UnicodeScalarView()
    var count = 0
    var marks = 0
    for scalar in unicodeScalars {
      if count == limit {
        shown.append("…")
        break
      }
      marks = scalar.isMark ? marks + 1 : 0
      guard marks <= 8 else { continue }
      let replacement: Unicode.Scalar = scalar.properties.isWhitespace ? " " : "\u{fffd}"
      shown.append(scalar.isPrintable ? scalar : replacement)
      count += 1
    }
    return String(shown)
  }
}

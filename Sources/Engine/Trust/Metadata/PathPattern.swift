import HostedModel

/// A path pattern of a delegation: `*`, `?` and `[…]` match within one component, never a `/`.
///
/// Names are compared by Unicode scalars, so that a pattern has the same meaning for every client.
/// Matching takes time proportional to pattern length times name length, for any number of stars.
package struct PathPattern: Hashable, Sendable {
  private let components: [[Unicode.Scalar]]

  package init(_ text: String) { components = Self.components(of: text) }

  /// The components of a pattern or of a path.
  static func components(of text: String) -> [[Unicode.Scalar]] {
    text.pathComponents(omittingEmpty: false).map { Array($0.unicodeScalars) }
  }

  /// Whether `path` has as many components as the pattern, and all of them match.
  package func matches(_ path: String) -> Bool { matches(Self.components(of: path)) }

  /// Whether a path with the components `path` matches.
  func matches(_ path: [[Unicode.Scalar]]) -> Bool {
    path.count == components.count
      && zip(components, path).allSatisfy { Self.matches($0, $1) }
  }

  private static func matches(_ pattern: [Unicode.Scalar], _ text: [Unicode.Scalar]) -> Bool {
    // Searched once: a search from each `[` without a `]` would multiply the time.
    let lastBracket = pattern.lastIndex(of: "]") ?? 0
    var (place, position) = (0, 0)
    // Where to continue if the pattern after the last star does not match here.
    var retry: (place: Int, position: Int)?
    while position < text.count {
      if place < pattern.count, pattern[place] == "*" {
        place += 1
        retry = (place, position)
      } else if let next = step(pattern, place, text[position], lastBracket) {
        (place, position) = (next, position + 1)
      } else if let last = retry {
        retry = (last.place, last.position + 1)
        (place, position) = (last.place, last.position + 1)
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == "*" }
  }

  /// Returns the next position in the pattern if it matches `scalar`; nil otherwise.
  ///
  /// `lastBracket` is the position of the last `]`.
  private static func step(
    _ pattern: [Unicode.Scalar], _ place: Int, _ scalar: Unicode.Scalar, _ lastBracket: Int
  ) -> Int? {
    guard place < pattern.count else { return nil }
    switch pattern[place] {
    case "?": return place + 1
    case "[":
      guard place < lastBracket, let (end, matches) = set(pattern, place, scalar) else {
        // Without a closing bracket, `[` is an ordinary character.
        return scalar == "[" ? place + 1 : nil
      }
      return matches ? end : nil
    case let other: return other == scalar ? place + 1 : nil
    }
  }

  /// Reads `[abc]`, `[a-z]` or `[!a-z]`; returns its end and whether it contains `scalar`.
  private static func set(_ pattern: [Unicode.Scalar], _ place: Int, _ scalar: Unicode.Scalar)
    -> (end: Int, matches: Bool)?
  {
    var next = place + 1
    let isNegated = next < pattern.count && pattern[next] == "!"
    if isNegated { next += 1 }
    let first = next
    var isMember = false
    while next < pattern.count, pattern[next] != "]" || next == first {
      if next + 2 < pattern.count, pattern[next + 1] == "-", pattern[next + 2] != "]" {
        let (low, high) = (pattern[next], pattern[next + 2])
        if low <= scalar, scalar <= high { isMember = true }
        next += 3
      } else {
        if pattern[next] == scalar { isMember = true }
        next += 1
      }
    }
    return next < pattern.count ? (next + 1, isMember != isNegated) : nil
  }
}

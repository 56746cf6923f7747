import HostedModel

/// The rules for the path of an entry, which only depend on its bytes.
enum PathRules {
  private static let dot = UInt8(ascii: ".")
  private static let slash = UInt8(ascii: "/")
  /// The maximum number of characters of a path in a message.
  private static let shownLimit = 200

  struct Result {
    /// The path in a form that is safe for messages.
    let shown: String
    /// The path without the leading `./` of tar and cpio, and without the trailing `/` of folders.
    ///
    /// Empty for the root itself.
    let path: String
    let findings: [Finding]
  }

  static func check(_ bytes: [UInt8]?, _ limits: PackageLimits) -> Result {
    let raw = bytes ?? []
    let shown = shown(raw)
    var findings: [Finding] = []
    func refuse(_ rule: String, _ what: String) {
      guard !findings.contains(where: { $0.rule == rule }) else { return }
      findings.append(.entry(rule, "The path “\(shown)” \(what)", path: shown))
    }
    guard !raw.isEmpty else {
      refuse("path-empty", "is empty or unreadable")
      return Result(shown: shown, path: "", findings: findings)
    }
    if raw.first == UInt8(ascii: "/") { refuse("path-absolute", "is absolute") }
    if raw.count > limits.pathLength { refuse("path-length", "has \(raw.count) bytes") }
    if raw.contains(UInt8(ascii: "\\")) { refuse("path-backslash", "contains a backslash") }
    // Printable ASCII needs no further checks.
    let isPrintable = isPrintable(raw)
    if !isPrintable {
      let text = String(validating: raw, as: UTF8.self)
      if text == nil { refuse("path-encoding", "is not valid UTF-8") }
      if let text,
        text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
      {
        refuse("path-control", "contains a control character")
      }
    }
    guard let path = withoutEnds(raw) else {
      return Result(shown: shown, path: "", findings: findings)
    }
    var start = path.startIndex
    while start <= path.endIndex {
      let end = path[start...].firstIndex(of: slash) ?? path.endIndex
      let part = path[start..<end]
      start = end + 1
      switch (part.count, part.first, part.last) {
      case (0, _, _): refuse("path-empty", "has an empty component")
      case (1, dot, _): refuse("path-dot", "contains the component “.”")
      case (2, dot, dot): refuse("path-parent", "contains “..”")
      default: break
      }
      if part.count > limits.componentLength {
        refuse("path-length", "has a component of \(part.count) bytes")
      }
    }
    let isShown = isPrintable && path.count == raw.count && raw.count <= shownLimit
    return Result(
      shown: shown, path: isShown ? shown : String(decoding: path, as: UTF8.self),
      findings: findings)
  }

  /// Returns the path without a leading `./` and a trailing `/`, or nil for the root itself.
  private static func withoutEnds(_ raw: [UInt8]) -> ArraySlice<UInt8>? {
    var rest = raw[...]
    if rest.last == slash, rest.count > 1 { rest = rest.dropLast() }
    if rest.first == dot {
      if rest.count == 1 { return nil }
      if rest.dropFirst().first == slash { rest = rest.dropFirst(2) }
    }
    if rest.first == slash { rest = rest.dropFirst() }
    return rest
  }

  /// Returns text from outside in a form that is safe for messages: limited and valid.
  static func shown(_ raw: [UInt8]) -> String {
    // A character has at most four bytes. One more character shows that the text is longer.
    String(decoding: raw.prefix(4 * (shownLimit + 1)), as: UTF8.self).printable(limit: shownLimit)
  }

  /// Returns whether all bytes are printable ASCII; this is common, and avoids Unicode lookups.
  private static func isPrintable(_ raw: [UInt8]) -> Bool { raw.allSatisfy { 32...126 ~= $0 } }
}

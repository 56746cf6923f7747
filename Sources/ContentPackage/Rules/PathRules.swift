import ContentModel

/// What the path of an entry must keep, judged by its bytes alone.
struct PathRules {
  let limits: PackageLimits

  private static let dot = UInt8(ascii: ".")

  /// A path taken apart; `components` is empty for the root itself.
  struct Result {
    /// The path as messages may show it.
    let shown: String
    let components: [String]
    let findings: [Finding]
  }

  /// Takes the bytes of an entry's path apart.
  func check(_ bytes: [UInt8]?) -> Result {
    let raw = bytes ?? []
    let shown = Self.shown(raw)
    var findings: [Finding] = []
    func refuse(_ rule: String, _ what: String) {
      guard !findings.contains(where: { $0.rule == rule }) else { return }
      findings.append(Self.finding(rule, "The path “\(shown)” \(what)", path: shown))
    }
    guard !raw.isEmpty else {
      refuse("path-empty", "is empty or cannot be read")
      return Result(shown: shown, components: [], findings: findings)
    }
    if raw.first == UInt8(ascii: "/") { refuse("path-absolute", "is absolute") }
    if raw.count > limits.pathLength { refuse("path-length", "has \(raw.count) bytes") }
    if raw.contains(UInt8(ascii: "\\")) { refuse("path-backslash", "contains a back-slash") }
    // Printable ASCII has nothing else that could be wrong.
    if !Self.isPrintable(raw) {
      let text = String(validating: raw, as: UTF8.self)
      if text == nil { refuse("path-encoding", "is no UTF-8 text") }
      if let text,
        text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
      {
        refuse("path-control", "contains a control character")
      }
    }
    let parts = Self.parts(raw)
    for part in parts {
      switch (part.count, part.first, part.last) {
      case (0, _, _): refuse("path-empty", "has an empty component")
      case (1, Self.dot, _): refuse("path-dot", "has a component “.”")
      case (2, Self.dot, Self.dot): refuse("path-parent", "leads out through “..”")
      default: break
      }
      if part.count > limits.componentLength {
        refuse("path-length", "has a component of \(part.count) bytes")
      }
    }
    return Result(
      shown: shown, components: parts.map { String(decoding: $0, as: UTF8.self) },
      findings: findings)
  }

  /// The components, without the `./` that tar and cpio begin with and the `/` that folders end with.
  private static func parts(_ raw: [UInt8]) -> [ArraySlice<UInt8>] {
    let slash = UInt8(ascii: "/")
    var rest = raw[...]
    if rest.last == slash, rest.count > 1 { rest = rest.dropLast() }
    if rest.first == dot {
      if rest.count == 1 { return [] }
      if rest.dropFirst().first == slash { rest = rest.dropFirst(2) }
    }
    if rest.first == slash { rest = rest.dropFirst() }
    return rest.split(separator: slash, omittingEmptySubsequences: false)
  }

  /// Text from outside as it may be shown: bounded, control characters and bad bytes replaced.
  static func shown(_ raw: [UInt8]) -> String {
    if raw.count <= 200, isPrintable(raw) { return String(decoding: raw, as: UTF8.self) }
    let scalars = String(decoding: raw.prefix(1024), as: UTF8.self).unicodeScalars
    let kept = scalars.prefix(200).map {
      $0.properties.generalCategory == .control ? "\u{fffd}" : String($0)
    }
    return kept.joined() + (scalars.count > 200 || raw.count > 1024 ? "…" : "")
  }

  /// Whether all are printable ASCII, as most paths are, which needs no look at Unicode's tables.
  private static func isPrintable(_ raw: [UInt8]) -> Bool { raw.allSatisfy { 32...126 ~= $0 } }

  static func finding(_ rule: String, _ message: String, path: String) -> Finding {
    Finding(
      path: path, rule: rule, message: message,
      remedy: "Rename or remove the entry and build the package again", code: .entryRefused)
  }
}

import ContentModel

/// What the target of a symbolic link must keep: it stays inside the content, whatever else is
/// there.
///
/// The folders above a link are real folders, since nothing is written through a link; so each
/// leading `..` leads exactly one of them up, and as many as the link's depth lead to the content's
/// root. Behind a normal component `..` is refused: that component may be another link, and then
/// `..` means the folder above *its* target. With `d -> ..` beside it, `l -> d/..` would lead one
/// folder above what its text says. Without such a `..`, each component either goes down or through
/// a link for which all this holds too, so no chain of links leads out.
struct LinkRules {
  let limits: PackageLimits

  /// Checks the target of the link at `path` whose parents are `depth` folders.
  func check(target raw: [UInt8], path: String, depth: Int) -> (target: String, findings: [Finding])
  {
    let shown = PathRules.shown(raw)
    var findings: [Finding] = []
    func refuse(_ rule: String, _ what: String) {
      findings.append(
        Finding(
          path: path, rule: rule, message: "The link “\(path)” \(what)",
          remedy: "Let it point to something inside the content by a relative path, or remove it",
          code: .entryRefused))
    }
    guard raw.count <= limits.pathLength else {
      refuse("link-target", "has a target of \(raw.count) bytes")
      return (shown, findings)
    }
    let text = String(validating: raw, as: UTF8.self)
    let isPlain =
      text.map { !$0.unicodeScalars.contains { $0.properties.generalCategory == .control } }
      ?? false
    if raw.isEmpty || !isPlain || raw.contains(UInt8(ascii: "\\")) {
      refuse("link-target", "has a target that no file can have: “\(shown)”")
    }
    if raw.first == UInt8(ascii: "/") { refuse("link-absolute", "points to “\(shown)”") }
    var isDown = false
    var ups = 0
    for part in raw.split(separator: UInt8(ascii: "/")) where !part.elementsEqual([46]) {
      guard part.elementsEqual([46, 46]) else {
        isDown = true
        continue
      }
      ups += 1
      if isDown || ups > depth {
        refuse("link-escape", "leads out of the content, or might: “\(shown)”")
        break
      }
    }
    return (text ?? shown, findings)
  }
}

import HostedModel

/// The rules for the target of a symbolic link: it must stay inside the content.
///
/// The folders above a link are real folders, since nothing is written through a link. Each leading
/// `..` therefore goes up by exactly one of them, and as many as the link's depth lead to the
/// content's root. After a normal component, `..` is rejected: the component may be another link,
/// and then `..` means the parent of *its* target. For example, with `d -> ..` next to it, `l ->
/// d/..` leads one folder higher than its text says. Without such a `..`, each component goes down
/// or through a link with the same property, so a chain of links cannot leave the content.
enum LinkRules {
  /// Checks the target of the link at `path`, which is inside `depth` folders.
  static func check(target raw: [UInt8], path: String, depth: Int, _ limits: PackageLimits)
    -> (target: String, findings: [Finding])
  {
    let shown = PathRules.shown(raw)
    var findings: [Finding] = []
    func refuse(_ rule: String, _ what: String) {
      findings.append(
        Finding(
          path: path, rule: rule, message: "The link “\(path)” \(what)",
          remedy: "Use a relative path to a file inside the content, or remove the link",
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
      refuse("link-target", "has an invalid target: “\(shown)”")
    }
    if raw.first == UInt8(ascii: "/") {
      refuse("link-absolute", "has the absolute target “\(shown)”")
    }
    var isDown = false
    var ups = 0
    for part in raw.split(separator: UInt8(ascii: "/")) where !part.elementsEqual([46]) {
      guard part.elementsEqual([46, 46]) else {
        isDown = true
        continue
      }
      ups += 1
      if isDown || ups > depth {
        refuse("link-escape", "may lead out of the content: “\(shown)”")
        break
      }
    }
    return (text ?? shown, findings)
  }
}

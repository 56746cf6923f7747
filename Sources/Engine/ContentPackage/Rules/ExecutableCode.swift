import ContentModel

/// Recognizes executable code by a file's first bytes.
enum ExecutableCode {
  /// How many bytes are looked at.
  static let prefixLength = 4

  /// What kind of code begins with `bytes`; nil for none.
  static func kind(of bytes: some Collection<UInt8>) -> String? {
    let bytes = Array(bytes.prefix(prefixLength))
    return magics.first { bytes.starts(with: $0.magic) }?.kind
  }

  private static let magics: [(magic: [UInt8], kind: String)] = [
    (Array("#!".utf8), "a script"),
    ([0x7f, 0x45, 0x4c, 0x46], "an ELF program"),
    (Array("MZ".utf8), "a DOS or Windows program"),
    ([0xfe, 0xed, 0xfa, 0xce], "a Mach-O program"), ([0xce, 0xfa, 0xed, 0xfe], "a Mach-O program"),
    ([0xfe, 0xed, 0xfa, 0xcf], "a Mach-O program"), ([0xcf, 0xfa, 0xed, 0xfe], "a Mach-O program"),
    ([0xca, 0xfe, 0xba, 0xbe], "a fat Mach-O program"),
    ([0xbe, 0xba, 0xfe, 0xca], "a fat Mach-O program"),
    ([0xca, 0xfe, 0xba, 0xbf], "a fat Mach-O program"),
    ([0xbf, 0xba, 0xfe, 0xca], "a fat Mach-O program"),
  ]

  static func finding(_ kind: String, path: String) -> Finding {
    Finding(
      path: path, rule: "executable-code", message: "“\(path)” is \(kind)",
      remedy: "Remove it: hosted content has no executable code", code: .executableContent)
  }

  static func modeFinding(_ permissions: UInt32, path: String) -> Finding {
    let mode = String(permissions, radix: 8)
    return Finding(
      path: path, rule: "executable-mode", message: "“\(path)” is executable (mode \(mode))",
      remedy: "Remove its execute permission with chmod a-x, or the file", code: .executableContent)
  }
}

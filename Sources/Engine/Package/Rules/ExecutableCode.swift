import HostedModel
import HostedFileIO

/// Detects executable code by the first bytes of a file.
enum ExecutableCode {
  /// The number of bytes that are checked.
  static let prefixLength = 4

  /// Returns the kind of code that starts with `bytes`, or nil for other data.
  static func kind(of bytes: some Collection<UInt8>) -> String? {
    let bytes = Array(bytes.prefix(prefixLength))
    return magics.first { bytes.starts(with: $0.magic) }?.kind
  }

  static func kind(of file: borrowing File) throws -> String? {
    var bytes = [UInt8](repeating: 0, count: prefixLength)
    let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    return kind(of: bytes.prefix(count))
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

  /// Throws if the file at `path` of the package `name` starts with `bytes` of code.
  static func refuse(_ bytes: some Collection<UInt8>, at path: String, in name: String) throws {
    if let kind = kind(of: bytes) { throw finding(kind, path: path).error(in: name) }
  }

  static func finding(_ kind: String, path: String) -> Finding {
    Finding(
      path: path, rule: "executable-code", message: "“\(path)” is \(kind)",
      remedy: "Remove it. Hosted content must not contain executable code", code: .executableContent
    )
  }

  static func modeFinding(_ permissions: UInt32, path: String) -> Finding {
    let mode = String(permissions, radix: 8)
    return Finding(
      path: path, rule: "executable-mode", message: "“\(path)” is executable (mode \(mode))",
      remedy: "Remove its execute permission with chmod a-x, or remove the file",
      code: .executableContent)
  }
}

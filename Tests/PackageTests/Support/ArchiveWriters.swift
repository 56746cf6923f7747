import HostedPackage
import HostedFileIO
import Foundation
import HostedTestSupport

/// An entry as a hostile archiver could write it, without checks.
struct RawEntry {
  var path: [UInt8]
  var type: UInt8 = UInt8(ascii: "0")
  var mode = 0o644
  var link: [UInt8] = []
  var data: [UInt8] = []
  /// The length in the header, if it differs from the length of the data.
  var size: Int?

  static func file(_ path: String, _ data: String = "x", mode: Int = 0o644) -> RawEntry {
    RawEntry(path: Array(path.utf8), mode: mode, data: Array(data.utf8))
  }

  static func folder(_ path: String, mode: Int = 0o755) -> RawEntry {
    RawEntry(path: Array(path.utf8), type: UInt8(ascii: "5"), mode: mode)
  }

  static func link(_ path: String, _ target: String) -> RawEntry {
    RawEntry(path: Array(path.utf8), type: UInt8(ascii: "2"), mode: 0o777, link: Array(target.utf8))
  }

  static func hardLink(_ path: String, _ target: String, data: String = "") -> RawEntry {
    RawEntry(
      path: Array(path.utf8), type: UInt8(ascii: "1"), link: Array(target.utf8),
      data: Array(data.utf8))
  }

  static func special(_ path: String, type: Character) -> RawEntry {
    RawEntry(path: Array(path.utf8), type: type.asciiValue ?? 0)
  }

  /// Returns the ContentInfo.plist of `product` in `version`.
  static func info(
    _ product: String = "com.example.test", _ version: String = "1.0",
    content: String? = nil, path: String = "ContentInfo.plist"
  ) -> RawEntry {
    .file(path, contentInfoText(product, version, content: content))
  }
}

func contentInfoText(
  _ product: String = "com.example.test", _ version: String = "1.0", content: String? = nil
) -> String {
  let key = content.map { "\n<key>HCContentIdentifier</key><string>\($0)</string>" } ?? ""
  return """
    <?xml version="1.0" encoding="UTF-8"?>
    <plist version="1.0"><dict>
    <key>ContentVersion</key><string>\(version)</string>
    <key>IAPProductIdentifier</key><string>\(product)</string>\(key)
    </dict></plist>
    """
}

/// Creates a ustar archive, with GNU long names if necessary.
func tar(_ entries: [RawEntry], isEnded: Bool = true) -> [UInt8] {
  var bytes: [UInt8] = []
  for entry in entries {
    if entry.path.count > 100 {
      bytes += tarBlock(
        RawEntry(
          path: Array("././@LongLink".utf8), type: UInt8(ascii: "L"), data: entry.path + [0]))
    }
    bytes += tarBlock(entry)
  }
  return bytes + (isEnded ? [UInt8](repeating: 0, count: 1024) : [])
}

private func tarBlock(_ entry: RawEntry) -> [UInt8] {
  var header = [UInt8](repeating: 0, count: 512)
  func put(_ bytes: some Sequence<UInt8>, at offset: Int, limit: Int) {
    for (index, byte) in bytes.prefix(limit).enumerated() { header[offset + index] = byte }
  }
  func octal(_ number: Int, _ width: Int) -> [UInt8] {
    let digits = String(number, radix: 8)
    return Array((String(repeating: "0", count: max(0, width - digits.count)) + digits).utf8)
  }
  put(entry.path, at: 0, limit: 100)
  put(octal(entry.mode, 7), at: 100, limit: 7)
  put(octal(0, 7), at: 108, limit: 7)
  put(octal(0, 7), at: 116, limit: 7)
  put(octal(entry.size ?? entry.data.count, 11), at: 124, limit: 11)
  put(octal(0, 11), at: 136, limit: 11)
  put([UInt8](repeating: 32, count: 8), at: 148, limit: 8)
  header[156] = entry.type
  put(entry.link, at: 157, limit: 100)
  put("ustar\u{0}00".utf8, at: 257, limit: 8)
  put(octal(0, 7), at: 329, limit: 7)
  put(octal(0, 7), at: 337, limit: 7)
  put(octal(header.reduce(0) { $0 + Int($1) }, 6) + [0, 32], at: 148, limit: 8)
  let padding = (512 - entry.data.count % 512) % 512
  return header + entry.data + [UInt8](repeating: 0, count: padding)
}

/// Creates a cpio archive (odc) of the same entries.
///
/// Hard links are not supported.
func cpio(_ entries: [RawEntry]) -> [UInt8] {
  func octal(_ number: Int, _ width: Int) -> String {
    let digits = String(number, radix: 8)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
  var bytes: [UInt8] = []
  for entry in entries + [RawEntry(path: Array("TRAILER!!!".utf8), mode: 0)] {
    let kind =
      switch entry.type {
      case UInt8(ascii: "5"): 0o040000
      case UInt8(ascii: "2"): 0o120000
      case UInt8(ascii: "3"): 0o020000
      case UInt8(ascii: "4"): 0o060000
      case UInt8(ascii: "6"): 0o010000
      case UInt8(ascii: "s"): 0o140000
      default: 0o100000
      }
    let data = entry.link.isEmpty ? entry.data : entry.link
    let header =
      "070707" + octal(0, 12) + octal(kind | entry.mode, 6) + octal(0, 12) + octal(1, 6)
      + octal(0, 6) + octal(0, 11) + octal(entry.path.count + 1, 6)
      + octal(entry.size ?? data.count, 11)
    bytes += Array(header.utf8) + entry.path + [0] + data
  }
  return bytes
}

/// A package in memory.
final class MemorySource: ByteSource {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var length: Int64 { Int64(bytes.count) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    guard offset < length else { return 0 }
    let part = bytes[Int(offset)..<min(bytes.count, Int(offset) + buffer.count)]
    buffer.copyBytes(from: part)
    return part.count
  }
}

/// Runs a program and returns its output.
///
/// Throws if it fails.
@discardableResult
func run(_ program: String, _ arguments: [String], in folder: String? = nil) throws -> String {
  let end = try Program.run(
    program, arguments, environment: ["LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"], folder: folder)
  guard end.status == 0 else {
    throw ProgramFailure(program: program, status: end.status, output: end.output)
  }
  return end.output
}

struct ProgramFailure: Error {
  let program: String
  let status: Int32
  let output: String
}

/// Packs `names` of `folder` with bsdtar.
func bsdtar(_ options: [String], folder: String, _ names: [String] = ["."]) throws -> [UInt8] {
  let output = NSTemporaryDirectory() + "/archive-\(UUID().uuidString)"
  defer { try? FileManager.default.removeItem(atPath: output) }
  try run("/usr/bin/bsdtar", options + ["-cf", output, "-C", folder] + names)
  return Array(try Data(contentsOf: URL(fileURLWithPath: output)))
}

/// Creates a product archive around any payload with bsdtar.
func productArchive(payload: [UInt8]) throws -> [UInt8] {
  let folder = try TemporaryFolder()
  try folder.directory.createFile("Distribution").write(Array("<installer-gui-script/>".utf8))
  let component = try folder.directory.createDirectory("chapter.pkg")
  try component.createFile("PackageInfo").write(Array("<pkg-info/>".utf8))
  try component.createFile("Payload").write(payload)
  return try bsdtar(
    ["--format", "xar", "--options", "compression=none"], folder: folder.path,
    ["Distribution", "chapter.pkg"])
}

/// Creates a pbzx stream of stored chunks.
func storedPbzx(_ plain: [UInt8], chunk: Int) -> [UInt8] {
  func number(_ value: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
  }
  return stride(from: 0, to: plain.count, by: chunk).reduce(
    into: Array("pbzx".utf8) + number(chunk)
  ) {
    let part = plain[$1..<min($1 + chunk, plain.count)]
    $0 += number(part.count) + number(part.count) + part
  }
}

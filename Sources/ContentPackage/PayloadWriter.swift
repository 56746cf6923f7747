import CDeflate
import ContentModel
import Digests
import FileIO

/// Writes a payload: cpio (odc) in gzip members of 128 KiB of plain bytes.
///
/// Any gzip reader sees one stream. Numbers that vary from build to build (inode, owner, times) are zero.
/// Source: cpio(5), “Portable ASCII Format”; RFC 1952 §2.2.
final class PayloadWriter {
  private static let memberLength = 128 << 10
  private static let level: Int32 = 6
  // What 11 octal digits can say.
  private static let fileLimit: Int64 = 1 << 33

  private let file: File
  private let compressor: OpaquePointer
  private var plain: [UInt8] = []
  private var packed: [UInt8]
  private var digest = DigestStream(.sha1)
  private(set) var length: Int64 = 0

  /// Writes to `file`, which is empty.
  init(_ file: consuming File) throws {
    guard let compressor = libdeflate_alloc_compressor(Self.level) else {
      throw ContentError(.inconsistent, "libdeflate has no memory", remedy: "Free memory")
    }
    self.file = file
    self.compressor = compressor
    packed = [UInt8](
      repeating: 0, count: libdeflate_gzip_compress_bound(compressor, Self.memberLength))
    plain.reserveCapacity(Self.memberLength)
  }

  deinit { libdeflate_free_compressor(compressor) }

  /// Begins an entry, whose `size` bytes are added next.
  func begin(path: String, mode: UInt32, size: Int64) throws {
    let name = Array(path.utf8)
    guard size < Self.fileLimit, name.count < 0o777777 else {
      throw ContentError(
        .limitExceeded, "“\(path)” has \(size) bytes, too many for an entry of a package",
        remedy: "Split the file", subject: path)
    }
    // Magic, device, inode, mode, user, group, links, device, time, lengths of name and data.
    let header =
      "070707" + Self.octal(0, 6) + Self.octal(0, 6) + Self.octal(Int64(mode), 6)
      + Self.octal(0, 6) + Self.octal(0, 6) + Self.octal(1, 6) + Self.octal(0, 6)
      + Self.octal(0, 11) + Self.octal(Int64(name.count) + 1, 6) + Self.octal(size, 11)
    try (Array(header.utf8) + name + [0]).withUnsafeBytes { try add($0) }
  }

  /// Adds bytes of the entry that has begun.
  func add(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = min(rest.count, Self.memberLength - plain.count)
      plain += rest.prefix(count)
      rest = rest.dropFirst(count)
      if plain.count == Self.memberLength { try writeMember() }
    }
  }

  /// Writes the end mark; the SHA-1 of all packed bytes.
  func finish() throws -> [UInt8] {
    try begin(path: "TRAILER!!!", mode: 0, size: 0)
    if !plain.isEmpty { try writeMember() }
    return try digest.finishBytes()
  }

  /// Reads back packed bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    try file.read(into: buffer, at: offset)
  }

  private func writeMember() throws {
    let count = libdeflate_gzip_compress(
      compressor, plain, plain.count, &packed, packed.count)
    guard count > 0 else {
      throw ContentError(
        .inconsistent, "libdeflate's bound is too small", remedy: "Report it with these words")
    }
    try packed.withUnsafeBytes { buffer in
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      try digest.update(bytes)
      try file.write(bytes)
    }
    length += Int64(count)
    plain.removeAll(keepingCapacity: true)
  }

  private static func octal(_ number: Int64, _ width: Int) -> String {
    let digits = String(number, radix: 8)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

import ContentModel
import Digests
import FileIO
import Glibc

/// Writes a payload: cpio (odc) in gzip members that can each be decoded alone.
///
/// A member holds some small files whole, with the headers between them, or one piece of one large
/// file and nothing else. Any gzip reader sees one stream. Numbers that vary from build to build
/// (inode, owner, times) are zero. Source: cpio(5), “Portable ASCII Format”; RFC 1952 §2.2.
final class PayloadWriter {
  /// A group of small files ends when it has so many plain bytes.
  ///
  /// Smaller groups pack worse, larger ones make one changed file cost more: of an update with 1 %
  /// of the files changed, groups and pieces of about 256 KiB move half as much again, and save
  /// 0.13 % of the package.
  private static let groupLength = 64 << 10
  /// A longer file is cut into pieces of its own.
  private static let smallFileLimit = 128 << 10
  // What 11 octal digits can say.
  private static let fileLimit: Int64 = 1 << 33

  private let output: PayloadOutput
  private let compressor: MemberCompressor
  /// Plain bytes of the group that is being filled.
  private var filled = 0

  /// Writes to `file` from `offset` on; `limitExceeded` as soon as it would have more than `limit`
  /// bytes.
  init(_ file: consuming File, at offset: Int64, upTo limit: Int64, workers: Int) throws {
    let output = PayloadOutput(file, offset, limit)
    compressor = try MemberCompressor(workers: workers) { try output.write($0) }
    self.output = output
  }

  /// Adds an entry whose data, if it has any, are `bytes`.
  func add(path: String, mode: UInt32, bytes: [UInt8] = []) throws {
    let header = try Self.header(path: path, mode: mode, size: Int64(bytes.count))
    try startGroup(header.count + bytes.count)
    try append(header)
    try append(bytes)
  }

  /// Adds a file of `size` bytes.
  ///
  /// `read` fills a buffer from an offset of the file on and says how many bytes it found. Throws
  /// `buildFailed` when they are not as many as promised.
  func add(
    path: String, mode: UInt32, size: Int64,
    read: (UnsafeMutableRawBufferPointer, Int64) throws -> Int
  ) throws {
    let header = try Self.header(path: path, mode: mode, size: size)
    let isSmall = size <= Self.smallFileLimit
    try startGroup(header.count + (isSmall ? Int(size) : 0))
    try append(header)
    if isSmall {
      let room = try compressor.room()
      let found = try read(UnsafeMutableRawBufferPointer(rebasing: room[filled...]), 0)
      guard Int64(found) == size else { throw Self.changed(path) }
      filled += found
    } else {
      endGroup()
      try addPieces(path, size, read)
    }
  }

  private func addPieces(
    _ path: String, _ size: Int64, _ read: (UnsafeMutableRawBufferPointer, Int64) throws -> Int
  ) throws {
    var offset: Int64 = 0
    while offset < size {
      // One byte more than a piece may have, so that a file that grew is seen to.
      let room = UnsafeMutableRawBufferPointer(
        rebasing: try compressor.room()[...ContentCutter.maximum])
      let found = try read(room, offset)
      guard Int64(found) == min(Int64(room.count), size - offset) else { throw Self.changed(path) }
      let count = ContentCutter.cut(UnsafeRawBufferPointer(rebasing: room[..<found]))
      compressor.submit(count)
      offset += Int64(count)
    }
  }

  /// Writes the end mark; the payload's length and the SHA-1 of its packed bytes.
  func finish() throws -> (length: Int64, checksum: [UInt8]) {
    try append(Self.header(path: "TRAILER!!!", mode: 0, size: 0))
    endGroup()
    try compressor.finish()
    return try output.finish()
  }

  /// Writes `bytes` before the payload.
  func complete(beginning bytes: [UInt8]) throws { try output.complete(beginning: bytes) }

  /// Makes the whole file durable.
  func sync() throws { try output.sync() }

  // MARK: Groups

  /// Begins another group when `count` bytes more would make this one too long.
  private func startGroup(_ count: Int) throws {
    if filled > 0, filled + count > Self.groupLength { endGroup() }
    // A single entry with a very long name and data still fits.
    guard count < MemberCompressor.capacity else {
      throw ContentError(
        .limitExceeded, "A name or link has \(count) bytes, too many for a package",
        remedy: "Shorten it")
    }
  }

  private func endGroup() {
    if filled > 0 { compressor.submit(filled) }
    filled = 0
  }

  private func append(_ bytes: [UInt8]) throws {
    let room = try compressor.room()
    bytes.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyMemory(from: $0)
    }
    filled += bytes.count
  }

  // MARK: Headers

  private static func header(path: String, mode: UInt32, size: Int64) throws -> [UInt8] {
    let name = Array(path.utf8)
    guard size < fileLimit, name.count < 0o777777 else {
      throw ContentError(
        .limitExceeded, "“\(path)” has \(size) bytes, too many for an entry of a package",
        remedy: "Split the file", subject: path)
    }
    // Magic, device, inode, mode, user, group, links, device, time, lengths of name and data.
    var bytes = Array("070707".utf8)
    bytes.reserveCapacity(76 + name.count + 1)
    let fields: [(Int64, Int)] = [
      (0, 6), (0, 6), (Int64(mode), 6), (0, 6), (0, 6), (1, 6), (0, 6), (0, 11),
      (Int64(name.count) + 1, 6), (size, 11),
    ]
    for (number, width) in fields {
      for digit in (0..<width).reversed() {
        bytes.append(UInt8(ascii: "0") + UInt8(number >> Int64(3 * digit) & 7))
      }
    }
    return bytes + name + [0]
  }

  private static func changed(_ path: String) -> ContentError {
    ContentError(
      .buildFailed, "\(path) changed while it was read",
      remedy: "Let no other program write the folder, and start again", subject: path)
  }
}

/// The file that packed members are appended to, and their checksum.
///
/// Unchecked, because one thread has it at a time: the compressor's until that has finished, then
/// the caller's.
private final class PayloadOutput: @unchecked Sendable {
  private let file: File
  private var digest = DigestStream(.sha1)
  private let start: Int64
  private let limit: Int64
  private var end: Int64
  /// Up to where the disk was told to begin.
  private var begun: Int64 = 0

  /// How much is written before the disk is told to begin.
  private static let stretch: Int64 = 8 << 20

  init(_ file: consuming File, _ start: Int64, _ limit: Int64) {
    self.file = file
    self.start = start
    self.limit = limit
    end = start
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    guard end + Int64(bytes.count) <= limit else {
      throw ContentError(
        .limitExceeded, "The package would have more than the \(limit) bytes allowed",
        remedy: "Split the content into several contents or products")
    }
    try digest.update(bytes)
    try file.write(bytes, at: end)
    end += Int64(bytes.count)
    if end >= begun + Self.stretch {
      file.beginWritingBack()
      begun = end
    }
  }

  func sync() throws { try file.sync() }

  func finish() throws -> (length: Int64, checksum: [UInt8]) {
    (end - start, try digest.finishBytes())
  }

  func complete(beginning bytes: [UInt8]) throws {
    guard Int64(bytes.count) == start else {
      throw ContentError(
        .inconsistent, "The archive's beginning has \(bytes.count) bytes, not \(start)",
        remedy: "Report it with these words")
    }
    try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    file.beginWritingBack()
  }
}

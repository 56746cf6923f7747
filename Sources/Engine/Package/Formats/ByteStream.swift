import HostedDigests
import HostedModel

/// A sequence of bytes, in the form in which libarchive reads it.
protocol ByteStream: AnyObject {
  /// Returns the next bytes, or an empty buffer at the end; valid until the next call.
  func next() throws -> UnsafeRawBufferPointer
}

extension UnsafeMutableRawBufferPointer {
  /// A buffer for reading at most `length` bytes in steps of up to 256 KiB.
  ///
  /// Shorter for small files, because many small packages are examined at the same time.
  static func forReading(_ length: Int64) -> UnsafeMutableRawBufferPointer {
    allocate(byteCount: Int(Swift.min(256 << 10, Swift.max(4096, length))), alignment: 16)
  }
}

extension ByteStream {
  func skipRest() throws {
    while try !next().isEmpty {}
  }
}

/// A stream over a byte source or a range of it, which can also seek.
final class SourceStream: ByteStream {
  private let source: any ByteSource
  private let start: Int64
  private let buffer: UnsafeMutableRawBufferPointer
  let length: Int64
  private(set) var offset: Int64 = 0

  init(_ source: any ByteSource, _ range: Range<Int64>? = nil) {
    self.source = source
    start = range?.lowerBound ?? 0
    length = range.map { Int64($0.count) } ?? source.length
    buffer = .forReading(length)
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    // Up to a multiple of the buffer's length, so that the same blocks are read from any start.
    let step = Int64(buffer.count) - (start + offset) % Int64(buffer.count)
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(step, length - offset))])
    let count = room.isEmpty ? 0 : try source.read(into: room, at: start + offset)
    if count == 0, offset < length { throw Finding.damaged("The package is truncated") }
    offset += Int64(count)
    return UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  /// Moves to `position`, or to the end if that is less.
  func seek(to position: Int64) { offset = min(max(position, 0), length) }
}

/// The data of the current entry of an archive.
final class ArchiveStream: ByteStream {
  let reader: ArchiveReader
  private let buffer: UnsafeMutableRawBufferPointer

  init(_ reader: ArchiveReader, of length: Int64) {
    self.reader = reader
    buffer = .forReading(length)
  }

  /// Decompresses `packed`; throws a finding if its header is invalid.
  convenience init(_ packed: any ByteStream, _ filter: ArchiveReader.Filter) throws {
    let reader = try ArchiveReader(packed, format: .raw(filter))
    guard try reader.next() != nil else {
      throw Finding.damaged("The compressed data is damaged or truncated")
    }
    self.init(reader, of: .max)
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: buffer[..<(try reader.read(into: buffer))])
  }
}

/// A stream that passes its bytes to a scanner, which can throw a finding.
final class ScannedStream: ByteStream {
  private let inner: any ByteStream
  private let scan: (UnsafeRawBufferPointer) throws -> Void

  init(_ inner: any ByteStream, _ scan: @escaping (UnsafeRawBufferPointer) throws -> Void) {
    self.inner = inner
    self.scan = scan
  }

  /// Throws a finding if the window of a frame is too large.
  convenience init(_ inner: any ByteStream, _ format: WindowScanner.Format) {
    var scanner = WindowScanner(format)
    self.init(inner) { try scanner.push($0) }
  }

  func next() throws -> UnsafeRawBufferPointer {
    let bytes = try inner.next()
    try scan(bytes)
    return bytes
  }
}

/// A stream that throws a finding if a package expands to too many bytes.
///
/// Readers limit the data of each entry. This stream also limits headers, and names that are so
/// long that libarchive would hold gigabytes of them in memory.
final class MeteredStream: ByteStream {
  // The limit of one header. A header that keeps the rules has at most a few kilobytes. libarchive
  // keeps 48 bytes per four bytes of a sparse file's map, and compares each entry of an ACL with
  // all others.
  private static let headerLimit: Int64 = 256 << 10
  // The size of a read within a header, so that reading ahead adds little to its length.
  private static let headerPiece = 64 << 10

  private let inner: any ByteStream
  private let limit: Int64
  private var total: Int64 = 0
  private var headerStart: Int64?
  // Bytes of the inner stream that were not returned yet.
  private var pending = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The offset after the last byte that is not zero.
  private(set) var lastMark: Int64 = 0

  init(_ inner: any ByteStream, limit: Int64) {
    self.inner = inner
    self.limit = limit
  }

  func next() throws -> UnsafeRawBufferPointer {
    if pending.isEmpty { pending = try inner.next() }
    let count = headerStart == nil ? pending.count : min(pending.count, Self.headerPiece)
    let bytes = UnsafeRawBufferPointer(rebasing: pending[..<count])
    pending = UnsafeRawBufferPointer(rebasing: pending[count...])
    if let last = bytes.lastIndex(where: { $0 != 0 }) { lastMark = total + Int64(last) + 1 }
    total += Int64(bytes.count)
    if total > limit {
      throw Finding.limit("limit-size", "The decompressed package exceeds the size limit")
    }
    if let headerStart, total - headerStart > Self.headerLimit {
      throw Finding.limit("limit-header", "The header of an entry exceeds the size limit")
    }
    return bytes
  }

  /// Counts the bytes that `body` reads as one header.
  func readingHeader<Result>(_ body: () throws -> Result) rethrows -> Result {
    headerStart = total
    defer { headerStart = nil }
    return try body()
  }
}

/// A stream of bytes that were already read, followed by the rest of a stream.
final class ReplayStream: ByteStream {
  private let rest: any ByteStream
  private let buffer: UnsafeMutableRawBufferPointer
  private let count: Int
  private var isHeadDone: Bool

  init(_ head: UnsafeRawBufferPointer, then rest: any ByteStream) {
    self.rest = rest
    buffer = .allocate(byteCount: max(head.count, 1), alignment: 16)
    buffer.copyMemory(from: head)
    isHeadDone = head.isEmpty
    count = head.count
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    guard isHeadDone else {
      isHeadDone = true
      return UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }
    return try rest.next()
  }
}

/// A checksum that an archive records for the bytes of a file.
///
/// It detects damage early. It does not protect from attacks, since an attacker can also change the
/// checksum.
struct FileChecksum: ~Copyable {
  struct Expected: Hashable {
    let algorithm: DigestStream.Algorithm
    let bytes: [UInt8]
  }

  private let expected: Expected
  private let path: String
  private var stream: DigestStream

  init(_ expected: Expected, of path: String) {
    self.expected = expected
    self.path = path
    stream = DigestStream(expected.algorithm)
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) throws { try stream.update(bytes) }

  /// Throws a finding unless the bytes so far match the checksum.
  mutating func check() throws {
    guard try stream.finishBytes() == expected.bytes else {
      throw Finding.damaged("Checksum mismatch in “\(path)”", path: path)
    }
  }
}

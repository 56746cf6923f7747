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

/// A stream over a byte source, which can also seek.
final class SourceStream: ByteStream {
  private let source: any ByteSource
  private let buffer: UnsafeMutableRawBufferPointer
  private(set) var offset: Int64 = 0

  var length: Int64 { source.length }

  init(_ source: any ByteSource) {
    self.source = source
    buffer = .forReading(source.length)
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    let count = try source.readStep(into: buffer, at: offset, before: length)
    offset += Int64(count)
    return UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  /// Moves to `position`, or to the end if that is less.
  func seek(to position: Int64) { offset = min(max(position, 0), length) }
}

/// The data of one entry of an archive.
protocol EntryData: AnyObject {
  /// Reads the next bytes, and returns 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

extension ArchiveReader: EntryData {}

/// Data that are stored uncompressed in a package.
final class StoredData: EntryData {
  private let source: any ByteSource
  private let end: Int64
  private var position: Int64

  init(_ source: any ByteSource, _ range: Range<Int64>) {
    self.source = source
    (position, end) = (range.lowerBound, range.upperBound)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if position == end { return 0 }
    let count = try source.readStep(into: buffer, at: position, before: end)
    if count == 0 { throw Refusal.damaged("The package is truncated") }
    position += Int64(count)
    return count
  }
}

/// The data of an entry, with a size limit and a checksum.
final class EntryStream: ByteStream {
  private let data: any EntryData
  private let buffer: UnsafeMutableRawBufferPointer
  private var checksum: FileChecksum?
  private var allowed: Int64
  private let path: String

  /// Creates a stream.
  ///
  /// The bytes must have `checksum` at the end, unless it is nil. More than `limit` bytes throw a
  /// refusal.
  init(
    _ data: any EntryData, path: String, limit: Int64, checksum: consuming FileChecksum? = nil
  ) {
    self.data = data
    buffer = .forReading(limit)
    self.path = path
    self.checksum = checksum
    allowed = limit
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    let count = try data.read(into: buffer)
    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
    allowed -= Int64(count)
    if allowed < 0 {
      throw Refusal.limit("limit-size", "The decompressed package exceeds the size limit")
    }
    try checksum?.update(bytes)
    return bytes
  }

  /// Reads the rest and compares the checksum.
  func finish() throws {
    while try !next().isEmpty {}
    guard try checksum?.matches() ?? true else {
      throw Refusal.damaged("Checksum mismatch in “\(path)”", path: path)
    }
  }
}

/// A stream that throws a refusal if a package expands to too many bytes.
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

  /// Creates a stream that returns at most `limit` bytes.
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
      throw Refusal.limit("limit-size", "The decompressed package exceeds the size limit")
    }
    if let headerStart, total - headerStart > Self.headerLimit {
      throw Refusal.limit("limit-header", "The header of an entry exceeds the size limit")
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

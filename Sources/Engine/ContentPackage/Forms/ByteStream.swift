/// Bytes in order, such as libarchive reads them.
protocol ByteStream: AnyObject {
  /// The next bytes, empty at the end; valid until the next call.
  func next() throws -> UnsafeRawBufferPointer
}

/// A stream over a byte source, which can also go to any offset.
final class SourceStream: ByteStream {
  private let source: any ByteSource
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
  private(set) var offset: Int64 = 0

  var length: Int64 { source.length }

  init(_ source: any ByteSource) { self.source = source }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    let count = try source.readStep(into: buffer, at: offset, before: length)
    offset += Int64(count)
    return UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  /// Goes to `position`, at most to the end.
  func seek(to position: Int64) { offset = min(max(position, 0), length) }
}

/// Data of one entry of an archive.
protocol EntryData: AnyObject {
  /// Reads on; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

extension ArchiveReader: EntryData {}

/// Data that lie in a package as they are.
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
    if count == 0 { throw Refusal.damaged("The package breaks off") }
    position += Int64(count)
    return count
  }
}

/// The data of an entry, bounded and compared with its checksum.
final class EntryStream: ByteStream {
  private let data: any EntryData
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
  private var checksum: FileChecksum?
  private var allowed: Int64
  private let path: String

  /// `checksum` is what the bytes must have in the end, nil when that is not known; more than
  /// `limit` bytes are refused.
  init(
    _ data: any EntryData, path: String, limit: Int64, checksum: consuming FileChecksum? = nil
  ) {
    self.data = data
    self.path = path
    self.checksum = checksum
    allowed = limit
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    let count = try data.read(into: buffer)
    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
    allowed -= Int64(count)
    if allowed < 0 { throw Refusal.limit("limit-size", "The package expands beyond all bounds") }
    try checksum?.update(bytes)
    return bytes
  }

  /// Reads what is left and compares the checksum.
  func finish() throws {
    while try !next().isEmpty {}
    guard try checksum?.matches() ?? true else {
      throw Refusal.damaged("The checksum of “\(path)” is wrong", path: path)
    }
  }
}

/// A stream that ends in a refusal when more arrives than a package may expand to.
///
/// Data is limited entry by entry by whoever reads it; this bounds what nobody else counts:
/// headers, and names so long that libarchive would hold gigabytes of them in memory.
final class MeteredStream: ByteStream {
  // A header's own limit. No header that keeps the rules has more than a few kilobytes; libarchive
  // keeps 48 bytes for each four of a sparse file's map, and compares each entry of an ACL with all
  // others.
  private static let headerLimit: Int64 = 256 << 10
  // What a header is given at once, so that what is read ahead of it hardly counts.
  private static let headerPiece = 64 << 10

  private let inner: any ByteStream
  private let limit: Int64
  private var total: Int64 = 0
  private var headerStart: Int64?
  // What the inner stream gave and was not handed on yet.
  private var pending = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Where the last byte that is not zero ends.
  private(set) var lastMark: Int64 = 0

  /// Lets `limit` bytes through.
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
    if total > limit { throw Refusal.limit("limit-size", "The package expands beyond all bounds") }
    if let headerStart, total - headerStart > Self.headerLimit {
      throw Refusal.limit("limit-header", "An entry's header has more bytes than are read")
    }
    return bytes
  }

  /// Counts what `body` takes as one header.
  func readingHeader<Result>(_ body: () throws -> Result) rethrows -> Result {
    headerStart = total
    defer { headerStart = nil }
    return try body()
  }
}

/// Some bytes that were read already, then the rest of a stream.
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

import HostedFileIO
import HostedHTTPValues

/// The body of a response: a part of a file or of memory, possibly damaged by a fault.
package struct ServedBody: Sendable {
  private let content: Content
  /// The range to send, in bytes from the start.
  var range: Range<Int64>
  var damage: Damage?
  /// The part and the size of the requested file; nil without a file, and no part without a 206.
  var place: ContentRange?
  /// Whether to send it as a gzip stream.
  var isCompressed = false

  private enum Content: Sendable {
    case bytes([UInt8])
    case file(OpenedFile)
  }

  /// What a fault does to the bytes.
  enum Damage: Hashable {
    /// One byte differs. The offset is from the start of the file.
    case flip(at: Int64)
    /// Every byte is inverted.
    case inversion
  }

  init(_ bytes: [UInt8]) {
    content = .bytes(bytes)
    range = 0..<Int64(bytes.count)
  }

  init(_ file: OpenedFile) {
    content = .file(file)
    range = 0..<file.status.size
  }

  /// The number of bytes to send.
  var length: Int64 {
    let count = range.upperBound - range.lowerBound
    return isCompressed ? GzipReader.length(of: count) : count
  }

  /// The file and its range, if the bytes are sent unchanged.
  var plainFile: (file: OpenedFile, range: Range<Int64>)? {
    guard case .file(let file) = content, damage == nil, !isCompressed else { return nil }
    return (file, range)
  }

  /// Creates a reader at the start of the body.
  func reader() -> ByteReader {
    var offset = range.lowerBound
    let slice: ByteReader = { buffer in
      let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
      let count = try read(into: .init(rebasing: buffer[..<wanted]), at: offset)
      offset += Int64(count)
      return count
    }
    return isCompressed ? GzipReader(slice).read : slice
  }

  /// Fills `buffer` with the bytes at `offset`; returns fewer only at the end.
  private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    let count: Int
    switch content {
    case .bytes(let bytes):
      let slice = bytes[min(bytes.count, Int(offset))...].prefix(buffer.count)
      slice.withUnsafeBytes { buffer.copyMemory(from: $0) }
      count = slice.count
    case .file(let opened): count = try opened.file.read(into: buffer, at: offset)
    }
    switch damage {
    case nil: break
    case .flip(let place):
      let index = place - offset
      if index >= 0, index < Int64(count) { buffer[Int(index)] ^= 0x01 }
    case .inversion: for index in 0..<count { buffer[index] ^= 0xff }
    }
    return count
  }
}

/// Fills the start of a buffer, which is not empty, with the next bytes; returns 0 only at the end.
///
/// Used by one thread at a time.
typealias ByteReader = (UnsafeMutableRawBufferPointer) throws -> Int

/// A gzip stream (RFC 1952) of stored blocks, so that its length is known in advance.
private final class GzipReader {
  private let source: ByteReader
  private var pending: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
  private var checksum: UInt32 = 0xffff_ffff
  private var count: UInt32 = 0
  private var hasEnded = false

  private static let blockSize = 65_535
  private static let framing = 10 + 5 + 8

  init(_ source: @escaping ByteReader) { self.source = source }

  /// The length of the stream for `count` bytes.
  static func length(of count: Int64) -> Int64 {
    let blocks = (count + Int64(blockSize) - 1) / Int64(blockSize)
    return count + blocks * 5 + Int64(framing)
  }

  /// A `ByteReader` of the stream.
  func read(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if pending.isEmpty, !hasEnded { try fill() }
    let part = pending.prefix(buffer.count)
    part.withUnsafeBytes { buffer.copyMemory(from: $0) }
    pending.removeFirst(part.count)
    return part.count
  }

  /// Creates the next stored block, or the empty last block with the trailer.
  private func fill() throws {
    var block = [UInt8](repeating: 0, count: Self.blockSize)
    var filled = 0
    try block.withUnsafeMutableBytes { buffer in
      while filled < buffer.count {
        let read = try source(.init(rebasing: buffer[filled...]))
        if read == 0 { break }
        filled += read
      }
    }
    hasEnded = filled == 0
    let length = UInt16(filled)
    pending = [hasEnded ? 1 : 0] + Self.bytes(length) + Self.bytes(~length) + block[..<filled]
    for byte in block[..<filled] {
      checksum = Self.table[Int((checksum ^ UInt32(byte)) & 0xff)] ^ (checksum >> 8)
    }
    count &+= UInt32(filled)
    if hasEnded { pending += Self.bytes(~checksum) + Self.bytes(count) }
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1
    }
  }
}

/// A regular file, open while a response needs it.
final class OpenedFile: Sendable {
  let file: File
  /// The status of the file when it was opened.
  let status: FileStatus

  init(_ file: consuming File) throws {
    status = try file.status()
    self.file = file
  }
}

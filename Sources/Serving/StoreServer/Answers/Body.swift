import FileIO

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

/// The body of a response: a part of a file or of memory, possibly damaged by a fault.
struct Body: Sendable {
  private let content: Content
  /// The range to send, in bytes from the start.
  var range: Range<Int64>
  var damage: Damage?
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
  func reader() -> any ByteReader {
    let reader = SliceReader(self)
    return isCompressed ? GzipReader(reader) : reader
  }

  /// Fills `buffer` with the bytes at `offset`; returns fewer only at the end.
  fileprivate func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
  {
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

/// A stream of bytes; used by one thread at a time.
protocol ByteReader: AnyObject {
  /// Fills the start of `buffer`, which is not empty. Returns 0 only at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// Reads the range of a body.
final class SliceReader: ByteReader {
  private let body: Body
  private var offset: Int64

  init(_ body: Body) {
    self.body = body
    offset = body.range.lowerBound
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let wanted = Int(min(Int64(buffer.count), body.range.upperBound - offset))
    let count = try body.read(into: .init(rebasing: buffer[..<wanted]), at: offset)
    offset += Int64(count)
    return count
  }
}

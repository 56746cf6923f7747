import FileIO

/// A regular file, open for as long as an answer needs it.
final class OpenedFile: Sendable {
  let file: File
  /// What it was when it was opened.
  let status: FileStatus

  init(_ file: consuming File) throws {
    status = try file.status()
    self.file = file
  }
}

/// The bytes of an answer: a part of a file or of memory, which a fault may have damaged.
struct Body: Sendable {
  private let content: Content
  /// What is sent of the whole, in bytes from its start.
  var range: Range<Int64>
  var damage: Damage?
  /// Sent as a gzip stream.
  var isCompressed = false

  private enum Content: Sendable {
    case bytes([UInt8])
    case file(OpenedFile)
  }

  /// What a fault does to the bytes.
  enum Damage: Hashable {
    /// One byte is another one; counted from the start of the file.
    case flip(at: Int64)
    /// Every byte is another one.
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

  /// How many bytes are sent.
  var length: Int64 {
    let count = range.upperBound - range.lowerBound
    return isCompressed ? GzipReader.length(of: count) : count
  }

  /// The file and its part, if the bytes are sent as they are on disk.
  var plainFile: (file: OpenedFile, range: Range<Int64>)? {
    guard case .file(let file) = content, damage == nil, !isCompressed else { return nil }
    return (file, range)
  }

  /// Reads it from its start.
  func reader() -> any ByteReader {
    let reader = SliceReader(self)
    return isCompressed ? GzipReader(reader) : reader
  }

  /// Fills `buffer` with the bytes at `offset` of the whole; fewer only at its end.
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

/// Bytes that are read once, from start to end; used by one thread at a time.
protocol ByteReader: AnyObject {
  /// Fills the start of `buffer`, which is not empty; 0 only at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// The range of a body.
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

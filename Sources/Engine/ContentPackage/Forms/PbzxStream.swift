import ContentModel

/// The decompressed bytes of a pbzx stream.
///
/// Each chunk is an xz stream or is stored. The stream has the magic `pbzx` and the decompressed
/// length of a chunk. Then each chunk has its decompressed length, its compressed length and its
/// bytes. Numbers are 64-bit big-endian. Only the last chunk may be shorter. Apple's packaging
/// tools write it with `--compression latest`; it is not specified.
final class PbzxStream: ByteStream {
  static let magic = Array("pbzx".utf8)
  // Apple uses chunks of 16 MiB.
  private static let chunkLimit: UInt64 = 64 << 20
  private static let xzMagic: [UInt8] = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]

  private let input: ChunkedInput
  private let chunkLength: UInt64
  private let buffer: UnsafeMutableRawBufferPointer
  private var reader: ArchiveReader?
  private var isInChunk = false
  private var isLast = false
  /// The decompressed bytes of the chunk that were not returned yet.
  private var owed: UInt64 = 0

  /// Reads the header; throws a refusal if it is invalid.
  init(_ upstream: any ByteStream) throws {
    let input = ChunkedInput(upstream)
    guard try input.take(4) == Self.magic, let length = try input.number(),
      (1...Self.chunkLimit).contains(length)
    else { throw Self.damaged("has an invalid header") }
    self.input = input
    chunkLength = length
    // Last, because an error thrown after this line would leak the buffer.
    buffer = .allocate(byteCount: 256 << 10, alignment: 16)
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    while true {
      guard try isInChunk || beginChunk() else {
        return UnsafeRawBufferPointer(start: nil, count: 0)
      }
      let bytes = try nextOfChunk()
      guard UInt64(bytes.count) <= owed else {
        throw Self.damaged("has a chunk that is longer than declared")
      }
      owed -= UInt64(bytes.count)
      if !bytes.isEmpty { return bytes }
      guard owed == 0, input.left == 0 else {
        throw Self.damaged("has a chunk whose length differs from the declared one")
      }
      reader = nil
      isInChunk = false
    }
  }

  /// Reads the header of a chunk, and returns false at the end of the stream.
  private func beginChunk() throws -> Bool {
    input.left = .max
    guard let plain = try input.number() else { return false }
    guard let packed = try input.number(), !isLast, (1...chunkLength).contains(plain),
      (1...(chunkLength + (1 << 20))).contains(packed)
    else { throw Self.damaged("has a chunk with an invalid length") }
    isLast = plain < chunkLength
    owed = plain
    input.left = packed
    isInChunk = true
    let first = try input.peek(Self.xzMagic.count)
    if first == Self.xzMagic {
      let reader = try ArchiveReader(
        WindowCheck(input, .xz), format: .raw, filter: .xz)
      guard try reader.next() != nil else { throw Self.damaged("has a damaged chunk") }
      self.reader = reader
    } else if packed != plain {
      throw Self.damaged("has a chunk that is neither xz nor stored")
    }
    return true
  }

  private func nextOfChunk() throws -> UnsafeRawBufferPointer {
    guard let reader else { return try input.next() }
    return UnsafeRawBufferPointer(rebasing: buffer[..<(try reader.read(into: buffer))])
  }

  private static func damaged(_ how: String) -> Refusal {
    .damaged("The payload's pbzx stream \(how)")
  }
}

/// A stream that is read chunk by chunk; `left` limits the current chunk.
private final class ChunkedInput: ByteStream {
  private let upstream: any ByteStream
  private var pending = UnsafeRawBufferPointer(start: nil, count: 0)
  // Bytes that were peeked. They are returned first.
  private var peeked: [UInt8] = []
  private let replay = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 16)
  /// The bytes that `next` may still return.
  var left: UInt64 = .max

  init(_ upstream: any ByteStream) { self.upstream = upstream }

  deinit { replay.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    if !peeked.isEmpty {
      let count = min(peeked.count, Int(min(left, 16)))
      replay.copyBytes(from: peeked[..<count])
      peeked.removeFirst(count)
      left -= UInt64(count)
      return UnsafeRawBufferPointer(rebasing: replay[..<count])
    }
    if pending.isEmpty, left > 0 { pending = try upstream.next() }
    let count = Int(min(UInt64(pending.count), left))
    defer {
      pending = UnsafeRawBufferPointer(rebasing: pending[count...])
      left -= UInt64(count)
    }
    return UnsafeRawBufferPointer(rebasing: pending[..<count])
  }

  /// Returns the next `count` bytes, or fewer at the end.
  func take(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      if pending.isEmpty { pending = try upstream.next() }
      if pending.isEmpty { break }
      let taken = pending.prefix(count - bytes.count)
      bytes += taken
      pending = UnsafeRawBufferPointer(rebasing: pending[taken.count...])
    }
    return bytes
  }

  /// Returns the next `count` bytes of the chunk, at most 16, and keeps them in the stream.
  func peek(_ count: Int) throws -> [UInt8] {
    peeked = try take(min(count, Int(min(left, 16))))
    return peeked
  }

  /// Reads a number.
  ///
  /// Returns nil at the end. Throws a refusal if it is truncated.
  func number() throws -> UInt64? {
    let bytes = try take(8)
    guard !bytes.isEmpty else { return nil }
    guard bytes.count == 8 else { throw Refusal.damaged("The payload's pbzx stream is truncated") }
    return bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}

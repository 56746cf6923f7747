import HostedModel

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
  private var chunk: (any ByteStream)?
  private var isLast = false
  /// The decompressed bytes of the chunk that were not returned yet.
  private var owed: UInt64 = 0

  init(_ upstream: any ByteStream) throws {
    let input = ChunkedInput(upstream)
    guard try input.take(4) == Self.magic, let length = try input.number(),
      (1...Self.chunkLimit).contains(length)
    else { throw Self.damaged("has an invalid header") }
    self.input = input
    chunkLength = length
  }

  func next() throws -> UnsafeRawBufferPointer {
    while true {
      guard let current = try chunk ?? nextChunk() else {
        return UnsafeRawBufferPointer(start: nil, count: 0)
      }
      chunk = current
      let bytes = try current.next()
      guard UInt64(bytes.count) <= owed else {
        throw Self.damaged("has a chunk that is longer than declared")
      }
      owed -= UInt64(bytes.count)
      if !bytes.isEmpty { return bytes }
      guard owed == 0, input.left == 0 else {
        throw Self.damaged("has a chunk whose length differs from the declared one")
      }
      chunk = nil
    }
  }

  /// Reads the header of a chunk; returns nil at the end of the stream.
  private func nextChunk() throws -> (any ByteStream)? {
    input.left = .max
    guard let plain = try input.number() else { return nil }
    guard let packed = try input.number(), !isLast, (1...chunkLength).contains(plain),
      (1...(chunkLength + (1 << 20))).contains(packed)
    else { throw Self.damaged("has a chunk with an invalid length") }
    isLast = plain < chunkLength
    owed = plain
    input.left = packed
    let first = try input.take(Int(min(packed, UInt64(Self.xzMagic.count))))
    let bytes = first.withUnsafeBytes { ReplayStream($0, then: input) }
    if first == Self.xzMagic { return try ArchiveStream(ScannedStream(bytes, .xz), .xz) }
    guard packed == plain else { throw Self.damaged("has a chunk that is neither xz nor stored") }
    return bytes
  }

  private static func damaged(_ how: String) -> Finding {
    .damaged("The payload's pbzx stream \(how)")
  }
}

/// A stream that is read chunk by chunk; `left` limits the current chunk.
private final class ChunkedInput: ByteStream {
  private let upstream: any ByteStream
  private var pending = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The bytes that may still be returned.
  var left: UInt64 = .max

  init(_ upstream: any ByteStream) { self.upstream = upstream }

  func next() throws -> UnsafeRawBufferPointer { try next(upTo: .max) }

  private func next(upTo limit: Int) throws -> UnsafeRawBufferPointer {
    if pending.isEmpty, left > 0 { pending = try upstream.next() }
    let count = min(pending.count, limit, Int(clamping: left))
    defer { pending = UnsafeRawBufferPointer(rebasing: pending[count...]) }
    left -= UInt64(count)
    return UnsafeRawBufferPointer(rebasing: pending[..<count])
  }

  /// Returns the next `count` bytes, or fewer at the end.
  func take(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try next(upTo: count - bytes.count)
      if more.isEmpty { break }
      bytes += more
    }
    return bytes
  }

  /// Reads a number; returns nil at the end, and throws a finding if it is truncated.
  func number() throws -> UInt64? {
    let bytes = try take(8)
    guard !bytes.isEmpty else { return nil }
    guard bytes.count == 8 else { throw Finding.damaged("The payload's pbzx stream is truncated") }
    return bytes.bigEndian(0, 8)
  }
}

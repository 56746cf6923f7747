import ContentModel

/// The plain bytes of a pbzx stream: chunks that are each an xz stream, or stored as they are.
///
/// `pbzx`, the length of a chunk's plain bytes, then for each chunk the length of its plain bytes
/// and of its packed ones, all numbers of 64 bits with the highest byte first. Only the last chunk
/// may be shorter. What Apple's packaging tools write with `--compression latest`; there is no
/// specification.
final class PbzxStream: ByteStream {
  static let magic = Array("pbzx".utf8)
  // Apple's chunks have 16 MiB.
  private static let chunkLimit: UInt64 = 64 << 20
  private static let xzMagic: [UInt8] = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]

  private let input: ChunkedInput
  private let chunkLength: UInt64
  private let buffer: UnsafeMutableRawBufferPointer
  private var reader: ArchiveReader?
  private var isInChunk = false
  private var isLast = false
  /// Plain bytes that the chunk still owes.
  private var owed: UInt64 = 0

  /// Reads the beginning; throws a refusal when it is none.
  init(_ upstream: any ByteStream) throws {
    let input = ChunkedInput(upstream)
    guard try input.take(4) == Self.magic, let length = try input.number(),
      (1...Self.chunkLimit).contains(length)
    else { throw Self.damaged("begins wrongly") }
    self.input = input
    chunkLength = length
    // Last, since what was made before something throws is given back by nobody.
    buffer = .allocate(byteCount: 256 << 10, alignment: 16)
  }

  deinit { buffer.deallocate() }

  func next() throws -> UnsafeRawBufferPointer {
    while true {
      guard try isInChunk || beginChunk() else {
        return UnsafeRawBufferPointer(start: nil, count: 0)
      }
      let bytes = try nextOfChunk()
      guard UInt64(bytes.count) <= owed else { throw Self.damaged("holds more than it says") }
      owed -= UInt64(bytes.count)
      if !bytes.isEmpty { return bytes }
      guard owed == 0, input.left == 0 else {
        throw Self.damaged("holds other lengths than it says")
      }
      reader = nil
      isInChunk = false
    }
  }

  /// False at the end of the stream.
  private func beginChunk() throws -> Bool {
    input.left = .max
    guard let plain = try input.number() else { return false }
    guard let packed = try input.number(), !isLast, (1...chunkLength).contains(plain),
      (1...(chunkLength + (1 << 20))).contains(packed)
    else { throw Self.damaged("has a chunk that cannot be") }
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

/// A stream of which parts are taken one by one, and `left` says how much of the present one there
/// is.
private final class ChunkedInput: ByteStream {
  private let upstream: any ByteStream
  private var pending = UnsafeRawBufferPointer(start: nil, count: 0)
  // What was looked at, and comes first.
  private var peeked: [UInt8] = []
  private let replay = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 16)
  /// Bytes that `next` may still hand out.
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

  /// The next `count` bytes, fewer at the end.
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

  /// The next `count` bytes of the chunk, at most 16, which stay to be read.
  func peek(_ count: Int) throws -> [UInt8] {
    peeked = try take(min(count, Int(min(left, 16))))
    return peeked
  }

  /// The next number; nil at the end, a refusal within it.
  func number() throws -> UInt64? {
    let bytes = try take(8)
    guard !bytes.isEmpty else { return nil }
    guard bytes.count == 8 else { throw Refusal.damaged("The payload's pbzx stream breaks off") }
    return bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// A gzip stream (RFC 1952) of stored blocks, so that its length is known in advance.
final class GzipReader {
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

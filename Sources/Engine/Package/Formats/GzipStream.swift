import HostedCDeflate
import HostedModel

/// The decompressed bytes of a gzip stream with any number of members.
///
/// libdeflate decompresses whole members of up to 1 MiB, and checks their CRC-32 and length before
/// it returns any byte. libarchive 3.6.2 checks neither. A longer member and all members after it
/// go through libarchive, because libdeflate cannot stream. The CRC-32 of a long member is compared
/// if it is the last one. Source: RFC 1952 §2.2.
final class GzipStream: ByteStream {
  private static let memberLimit = 1 << 20

  private let upstream: TailStream
  /// Takes the members; nil if only their content is wanted.
  private let members: MemberScan?
  private let decompressor: Decompressor
  private let plain: UnsafeMutableRawBufferPointer
  private let window: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  private var isUpstreamDone = false
  private var memberCount = 0
  /// The rest of the stream from a long member on, or nil until there is one.
  private var longMembers: LongMembers?
  // Bytes of the upstream that did not fit into the window.
  private var pending = UnsafeRawBufferPointer(start: nil, count: 0)

  /// Creates a stream whose members `members` takes; throws `outOfMemory`.
  init(_ upstream: any ByteStream, members: MemberScan? = nil) throws {
    decompressor = try Decompressor()
    plain = .allocate(byteCount: Self.memberLimit, alignment: 16)
    // Longer than a compressed member of 1 MiB can be, including its header.
    window = .allocate(byteCount: Self.memberLimit + (192 << 10), alignment: 16)
    self.upstream = TailStream(upstream)
    self.members = members
  }

  deinit {
    plain.deallocate()
    window.deallocate()
  }

  /// The part of a stream that follows; its bytes are valid until the next call.
  enum Part {
    case member(UnsafeRawBufferPointer)
    /// A member of more than 1 MiB.
    case longMember
    case end
  }

  func next() throws -> UnsafeRawBufferPointer {
    while true {
      if let longMembers { return try longMembers.next() }
      switch try nextPart() {
      case .member(let plain) where plain.isEmpty: continue
      case .member(let plain): return plain
      case .longMember:
        let rest = UnsafeRawBufferPointer(rebasing: window[start..<end])
        longMembers = try LongMembers(
          ReplayStream(rest, then: ReplayStream(pending, then: upstream)), endingAs: upstream)
      case .end: return UnsafeRawBufferPointer(start: nil, count: 0)
      }
    }
  }

  /// Returns the next member; do not call it after `longMember`.
  func nextPart() throws -> Part {
    if end - start < 2 { try refill() }
    guard window[start..<end].starts(with: [0x1f, 0x8b]) else {
      if memberCount == 0 { throw Finding.damaged("The compressed data is not a gzip stream") }
      // Only zeros may follow the last member.
      repeat {
        guard window[start..<end].allSatisfy({ $0 == 0 }) else {
          throw Finding.damaged("The compressed data has extra bytes after its end")
        }
        start = end
        try refill()
      } while start < end
      return .end
    }
    var result = decompressMember()
    if result == .damaged, !isUpstreamDone {
      try refill()
      result = decompressMember()
    }
    switch result {
    case .complete(let length, let count):
      let packed = UnsafeRawBufferPointer(rebasing: window[start..<(start + length)])
      let content = UnsafeRawBufferPointer(rebasing: plain[..<count])
      start += length
      memberCount += 1
      try members?.add(packed, content)
      return .member(content)
    case .tooLong: return .longMember
    case .damaged: throw Finding.damaged("The compressed data is damaged or truncated")
    }
  }

  private func decompressMember() -> Decompressor.Member {
    let packed = UnsafeRawBufferPointer(rebasing: window[start..<end])
    return decompressor.decompressMember(packed, into: plain)
  }

  /// Moves the remaining bytes to the start of the window and fills it.
  private func refill() throws {
    window.copyMemory(from: UnsafeRawBufferPointer(rebasing: window[start..<end]))
    end -= start
    start = 0
    while end < window.count, !isUpstreamDone {
      if pending.isEmpty { pending = try upstream.next() }
      if pending.isEmpty { isUpstreamDone = true }
      let count = min(pending.count, window.count - end)
      UnsafeMutableRawBufferPointer(rebasing: window[end..<(end + count)])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: pending[..<count]))
      end += count
      pending = UnsafeRawBufferPointer(rebasing: pending[count...])
    }
  }
}

/// The decompressed bytes of a long member and of all members after it.
private final class LongMembers: ByteStream {
  private let plain: ArchiveStream
  private let packed: TailStream
  private var checksum: UInt32 = 0
  private var length: UInt32 = 0

  /// Decompresses `rest`, which ends with the bytes of `packed`.
  init(_ rest: any ByteStream, endingAs packed: TailStream) throws {
    plain = try ArchiveStream(rest, .gzip)
    self.packed = packed
  }

  func next() throws -> UnsafeRawBufferPointer {
    let bytes = try plain.next()
    checksum = libdeflate_crc32(checksum, bytes.baseAddress, bytes.count)
    length &+= UInt32(bytes.count)
    // The last eight bytes of the stream are the CRC-32 and length of the last member. If the
    // length is that of all bytes since the long member began, the long member is the last one.
    let tail = packed.tail
    if bytes.isEmpty, tail.count == 8, length == tail.littleEndian(4, 4),
      checksum != tail.littleEndian(0, 4)
    {
      throw Finding.damaged("CRC-32 mismatch in the compressed data")
    }
    return bytes
  }
}

/// A stream that remembers its last eight bytes.
private final class TailStream: ByteStream {
  private let inner: any ByteStream
  private(set) var tail: ArraySlice<UInt8> = []

  init(_ inner: any ByteStream) { self.inner = inner }

  func next() throws -> UnsafeRawBufferPointer {
    let bytes = try inner.next()
    tail = (tail + bytes.suffix(8)).suffix(8)
    return bytes
  }
}

import HostedModel
import HostedFileIO
import HostedTestSupport
import Testing

@testable import HostedPackage

@Suite("Stored members")
struct PlainRunsTests {
  /// The CRC-32 of gzip (RFC 1952 §8).
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { checksum, byte in
      (0..<8).reduce(checksum ^ UInt32(byte)) { rest, _ in
        rest & 1 == 1 ? rest >> 1 ^ 0xedb8_8320 : rest >> 1
      }
    }
  }

  private static func littleEndian(_ number: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
  }

  /// Creates a gzip member of stored blocks of up to `block` bytes.
  private static func stored(_ plain: [UInt8], block: Int) -> [UInt8] {
    var member: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    var rest = plain[...]
    repeat {
      let part = rest.prefix(block)
      rest = rest.dropFirst(block)
      let length = UInt32(part.count)
      member += [rest.isEmpty ? 1 : 0] + littleEndian(length, 2) + littleEndian(~length, 2) + part
    } while !rest.isEmpty
    return member + littleEndian(checksum(plain), 4) + littleEndian(UInt32(plain.count), 4)
  }

  private func plain(_ member: [UInt8], _ length: Int, _ range: Range<Int>? = nil) -> [UInt8]? {
    member.withUnsafeBytes { bytes in
      guard let runs = PlainRuns(storedIn: bytes, plainLength: length) else { return nil }
      return Array(runs[range ?? 0..<length].runs.joined())
    }
  }

  @Test(arguments: [1, 7, 1000, 65_535])
  func `the bytes of blocks of any length are found, and any part of them`(block: Int) {
    let bytes = noise(3000, seed: 4)
    let member = Self.stored(bytes, block: block)
    #expect(plain(member, 3000) == bytes)
    for range in [0..<0, 0..<1, 5..<8, 999..<1001, 2990..<3000] {
      #expect(plain(member, 3000, range) == Array(bytes[range]))
    }
    member.withUnsafeBytes {
      #expect(PlainRuns(storedIn: $0, plainLength: 3000)?.prefix(4) == Array(bytes.prefix(4)))
    }
    #expect(plain(Self.stored([], block: block), 0) == [])
  }

  @Test func `any other member is left to the decoder`() {
    let bytes = noise(300, seed: 5)
    let member = Self.stored(bytes, block: 100)
    #expect(plain(member, 299) == nil && plain(member, 301) == nil)
    for count in member.indices { #expect(plain(Array(member[..<count]), 300) == nil, "\(count)") }
    #expect(plain(member + [0], 300) == nil)
    // The operating system and the time are ignored.
    let free = 4..<10
    for place in member.indices where !free.contains(place) {
      var damaged = member
      damaged[place] ^= 0x10
      #expect(plain(damaged, 300) == nil, "\(place)")
    }
  }

  @Test(arguments: [true, false])
  func `the result is the same with and without comparing file digests`(
    isComparing: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let content = try BuiltContent.library
    for limit in [5, .max] {
      try content.assemble(in: folder.directory, limit: limit, comparingDigests: isComparing)
    }
    #expect(try content.survey(folder.directory).missing.isEmpty)
    for (path, bytes) in library() {
      let parts = path.pathComponents()
      let parent = try folder.directory.directory(at: parts.dropLast())
      #expect(try parent.contents(of: parts.last ?? "", limit: 64 << 20) == bytes, "\(path)")
      #expect(try parent.status(of: parts.last ?? "")?.permissions == 0o444, "\(path)")
    }
  }
}

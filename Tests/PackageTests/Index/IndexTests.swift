import HostedModel
import HostedPackage
import HostedDigests
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("The index of a package")
struct IndexTests {
  @Test func `members are contiguous, and each matches its digest`() throws {
    let content = try BuiltContent.library
    let payload = try #require(content.index.payload)
    var offset = Int(payload.offset)
    for member in payload.members {
      let bytes = content.bytes[offset..<(offset + member.packedLength)]
      #expect(bytes.starts(with: [0x1f, 0x8b]))
      #expect(try Digest(of: Array(bytes)) == member.digest)
      offset += member.packedLength
    }
    #expect(offset == content.bytes.count)
    #expect(content.index.obstacle == nil)
    #expect(Double(content.index.encoded.count) < 0.005 * Double(content.bytes.count) + 4000)
  }

  @Test func `the package does not depend on the number of workers`() throws {
    let one = try BuiltContent(library(), workers: 1)
    for workers in [2, 3, 7] {
      #expect(try BuiltContent(library(), workers: workers).bytes == one.bytes)
    }
  }

  @Test func `an encoded index is decoded unchanged`() throws {
    let content = try BuiltContent.library
    #expect(try PackageIndex(encoded: content.index.encoded) == content.index)
    let folder = try chapterFolder()
    let blocks = try PackageIndex(
      indexing: MemorySource(bsdtar(["--format", "zip"], folder: folder.path)), entries: []
    )
    #expect(try PackageIndex(encoded: blocks.encoded) == blocks)
  }

  @Test func `an index of blocks accepts a source that reads less than asked`() throws {
    let bytes = noise(1000, seed: 7)
    let index = try PackageIndex(
      blocksOf: SlowSource(bytes), entries: [], obstacle: "It is not an archive")
    let digest = try Digest(of: bytes)
    #expect(index.blocks == [digest])
  }

  @Test func `a failed read of a package is an error, not a reason to index by blocks`() throws {
    let content = try BuiltContent.library
    let source = FailingSource(content.bytes)
    #expect(throws: FailingSource.Failure.self) {
      try PackageIndex(indexing: source, entries: content.index.files)
    }
  }

  @Test func `a package of another tool is indexed by blocks, with the reason`() throws {
    let folder = try chapterFolder()
    for options in [["--format", "xar"], ["--format", "zip"], ["-z"]] {
      let bytes = try bsdtar(options, folder: folder.path)
      let index = try PackageIndex(indexing: MemorySource(bytes), entries: examine(bytes).entries)
      #expect(index.payload == nil)
      #expect(index.obstacle == "The package is not a flat product archive")
    }
  }

  @Test func `an index that is truncated anywhere is refused`() throws {
    let bytes = try BuiltContent(["Contents/a": [1, 2, 3], "Contents/b": noise(300_000, seed: 4)])
      .index.encoded
    for length in 0..<bytes.count {
      #expect(throws: ContentError.self) { try PackageIndex(encoded: Array(bytes[..<length])) }
    }
    #expect(throws: ContentError.self) { try PackageIndex(encoded: bytes + [0]) }
  }

  @Test(.slow) func `a damaged index is refused or consistent`() throws {
    let content = try BuiltContent([
      "Contents/a": [1, 2, 3], "Contents/b": noise(300_000, seed: 4),
    ])
    let bytes = content.index.encoded
    for position in bytes.indices {
      for change: UInt8 in [1, 0x80, 0xff] {
        var damaged = bytes
        damaged[position] ^= change
        guard let index = try? PackageIndex(encoded: damaged) else { continue }
        #expect(index.isConsistent)
        #expect(index != content.index)
        // Must not trap for any content.
        _ = try? PackageSurvey(of: index, name: "x", staging: nil, reusing: [])
      }
    }
  }

  @Test func `an index with inconsistent numbers is not used`() throws {
    let content = try BuiltContent(["Contents/a": [1, 2, 3]])
    let payload = try #require(content.index.payload)
    let member = try #require(payload.members.first)
    func isConsistent(
      offset: Int64? = nil, members: [IndexedMember]? = nil, offsets: [Int64]? = nil,
      length: Int64? = nil
    ) -> Bool {
      PackageIndex(
        packageLength: length ?? content.index.packageLength,
        payload: PayloadIndex(
          offset: offset ?? payload.offset, members: members ?? payload.members,
          dataOffsets: offsets ?? payload.dataOffsets), files: content.index.files
      ).isConsistent
    }
    #expect(isConsistent())
    #expect(!isConsistent(offset: -1))
    #expect(!isConsistent(offset: .max))
    #expect(!isConsistent(length: content.index.packageLength - 1))
    #expect(!isConsistent(members: []))
    #expect(!isConsistent(offsets: []))
    #expect(!isConsistent(offsets: payload.dataOffsets.map { _ in .max }))
    #expect(!isConsistent(offsets: payload.dataOffsets.map { _ in 1 << 30 }))
    #expect(!isConsistent(offsets: payload.dataOffsets.map { _ in 0 }))
    for (packed, plain) in [(0, 10), (-1, 10), (10, -1), (.max, 10), (10, .max)] {
      let bad = IndexedMember(packedLength: packed, plainLength: plain, digest: member.digest)
      #expect(!isConsistent(members: [bad] + payload.members), "\(packed) \(plain)")
    }
  }

  @Test func `compressible files become smaller, and others hardly longer`() throws {
    let text = try BuiltContent([
      "Contents/a": Array(String(repeating: "word ", count: 100_000).utf8)
    ])
    #expect(text.bytes.count < 20_000)
    let noise = try BuiltContent(["Contents/a": noise(1_000_000, seed: 8)])
    #expect(noise.bytes.count < 1_010_000)
  }
}

/// A source whose second read fails.
private final class FailingSource: ByteSource {
  struct Failure: Error {}

  private let inner: MemorySource
  private var readCount = 0
  var length: Int64 { inner.length }

  init(_ bytes: [UInt8]) { inner = MemorySource(bytes) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    readCount += 1
    if readCount == 2 { throw Failure() }
    return try inner.read(into: buffer, at: offset)
  }
}

/// A source that reads at most seven bytes at a time.
private final class SlowSource: ByteSource {
  private let bytes: [UInt8]
  var length: Int64 { Int64(bytes.count) }

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    let part = bytes.dropFirst(Int(offset)).prefix(min(7, buffer.count))
    buffer.copyBytes(from: part)
    return part.count
  }
}

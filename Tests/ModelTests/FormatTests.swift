import HostedModel
import Testing

/// The bytes that version 0.9.0 writes; others need a new format number.
@Suite struct FormatTests {
  private let one: Digest
  private let two: Digest
  private let files: [IndexedFile]
  /// The bytes of `files` in both formats.
  private let listed: [UInt8]

  init() throws {
    one = try #require(Digest(bytes: [UInt8](repeating: 1, count: 32)))
    two = try #require(Digest(bytes: [UInt8](repeating: 2, count: 32)))
    files = [
      IndexedFile(path: "Contents", kind: .directory),
      IndexedFile(path: "Contents/a", kind: .file, size: 300, digest: one),
      IndexedFile(path: "Contents/l", kind: .link, target: "a"),
    ]
    var bytes: [UInt8] = [3]
    // The lengths of the shared and of the other part of each path, then its kind.
    bytes += [0, 8]
    bytes += "Contents".utf8
    bytes += [1]
    bytes += [8, 2]
    bytes += "/a".utf8
    bytes += [0, 0xac, 2]
    bytes += one.bytes
    bytes += [9, 1]
    bytes += "l".utf8
    bytes += [2, 1]
    bytes += "a".utf8
    listed = bytes
  }

  @Test func `the bytes of an index by blocks are those of format 1`() throws {
    let index = PackageIndex(
      packageLength: 300, blockLength: 4096, blocks: [two], files: files, obstacle: "No")
    var bytes = Array("HCIX".utf8)
    bytes += [1, 0xac, 2]
    bytes += listed
    bytes += [0, 0x80, 0x20, 1]
    bytes += two.bytes
    bytes += [2]
    bytes += "No".utf8
    #expect(index.encoded == bytes)
    #expect(try PackageIndex(encoded: bytes) == index)
  }

  @Test func `the bytes of an index of members are those of format 1`() throws {
    let members = [
      IndexedMember(packedLength: 150, plainLength: 400, digest: one),
      IndexedMember(packedLength: 50, plainLength: 200, digest: two, plainDigest: one),
    ]
    let payload = PayloadIndex(offset: 100, members: members, dataOffsets: [0, 260, 0])
    let index = PackageIndex(packageLength: 300, payload: payload, files: files)
    var bytes = Array("HCIX".utf8)
    bytes += [1, 0xac, 2]
    bytes += listed
    bytes += [1, 100, 2]
    bytes += [0x96, 1, 0xa0, 6]
    bytes += one.bytes
    bytes += [50, 0x91, 3]
    bytes += two.bytes
    bytes += one.bytes
    bytes += [0x84, 2]
    #expect(index.encoded == bytes)
    #expect(try PackageIndex(encoded: bytes) == index)
  }

  @Test func `the bytes of installed files in the journal are those of format 1`() {
    let identity = FileIdentity(inode: 5, size: 300, modified: -1, changed: 258)
    let installed = files.map {
      InstalledFile(entry: $0, identity: $0.kind == .file ? identity : nil)
    }
    var bytes: [UInt8] = [1]
    bytes += listed
    bytes += [0, 1]
    bytes += [5, 0, 0, 0, 0, 0, 0, 0]
    bytes += [UInt8](repeating: 0xff, count: 8)
    bytes += [2, 1, 0, 0, 0, 0, 0, 0]
    bytes += [0]
    #expect(InstalledFile.encoded(installed) == bytes)
    #expect(InstalledFile.decoded(bytes) == installed)
  }
}

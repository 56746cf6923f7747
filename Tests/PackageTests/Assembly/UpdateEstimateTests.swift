import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

/// The bytes of an update by two indexes, compared with an update that reads the installed files.
@Suite("Estimates of updates")
struct UpdateEstimateTests {
  /// Returns the bytes by the indexes, the bytes after reading the files, and those of all members.
  private func bytes(_ change: (inout [String: [UInt8]]) -> Void) throws -> (
    estimated: Int64, surveyed: Int64, full: Int64
  ) {
    let folder = try TemporaryFolder()
    let old = try BuiltContent.library
    let (files, _) = try old.assemble(in: folder.directory)
    var changed = library()
    change(&changed)
    let new = try BuiltContent(changed)
    let tree = ReusableTree(root: folder.directory, files: files)
    return (
      try #require(new.index.bytesToFetch(updating: old.index)),
      try new.survey(nil, reusing: [tree]).missingBytes, try new.survey(nil).missingBytes
    )
  }

  @Test func `unchanged, moved and removed files cost nothing`() throws {
    let changes: [(inout [String: [UInt8]]) -> Void] = [
      { _ in }, { $0["Contents/film.bin"] = nil },
      { $0["Contents/other/film.bin"] = $0.removeValue(forKey: "Contents/film.bin") },
      { $0["Contents/twin.txt"] = $0["Contents/pages/page-5.txt"] },
    ]
    for change in changes {
      let found = try bytes(change)
      #expect(found.estimated == 0 && found.surveyed == 0)
    }
  }

  @Test(.slow) func `the estimate is what an update fetches if lengths change`() throws {
    let changes: [(inout [String: [UInt8]]) -> Void] = [
      { $0["Contents/film.bin"]?.insert(contentsOf: noise(1024, seed: 9), at: 600_001) },
      { $0["Contents/film.bin"]?.removeFirst(70_000) },
      { $0["Contents/film.bin"]?.append(contentsOf: noise(300_000, seed: 9)) },
      { $0["Contents/pages/page-20.txt"] = Array("Another log.".utf8) },
      { $0["Contents/new.bin"] = noise(400_000, seed: 9) },
      // A small file becomes the end of a large one.
      { files in
        let page = files["Contents/pages/page-7.txt"] ?? []
        files["Contents/pages/page-7.txt"] = noise(500_000, seed: 9) + page
      },
    ]
    for (number, change) in changes.enumerated() {
      let found = try bytes(change)
      #expect(found.estimated == found.surveyed, "change \(number)")
      #expect(found.estimated > 0 && found.estimated < found.full, "change \(number)")
    }
  }

  @Test(.slow) func `an update of changed bytes fetches at most the estimate`() throws {
    for place in stride(from: 10_000, to: 1_500_000, by: 300_000) {
      let found = try bytes { $0["Contents/film.bin"]?[place] ^= 0x55 }
      #expect(found.surveyed > 0 && found.surveyed <= found.estimated, "\(place)")
      #expect(found.estimated < found.full / 2, "\(place)")
    }
  }

  @Test func `a large file with another Unicode form of its name is fetched`() throws {
    let folder = try TemporaryFolder()
    let film = noise(600_000, seed: 4)
    let old = try BuiltContent(["Contents/\(OddName.composed)": film])
    let decomposed = String(decoding: OddName.decomposed, as: UTF8.self)
    let new = try BuiltContent(["Contents/\(decomposed)": film + [1]])
    let estimate = try #require(new.index.bytesToFetch(updating: old.index))
    let (files, _) = try old.assemble(in: folder.directory)
    let tree = ReusableTree(root: folder.directory, files: files)
    #expect(try new.survey(nil, reusing: [tree]).missingBytes == estimate)
  }

  @Test func `an index without members has no estimate, and is enough for whole files`() throws {
    let library = try BuiltContent.library
    let blocks = try PackageIndex(
      blocksOf: MemorySource(library.bytes), entries: library.index.files, obstacle: "A test")
    #expect(blocks.bytesToFetch(updating: library.index) == nil)
    #expect(library.index.bytesToFetch(updating: blocks) == 0)
  }
}

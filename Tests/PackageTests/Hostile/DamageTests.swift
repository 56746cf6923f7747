import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Damaged packages", .long)
struct DamageTests {
  /// Small packages of each form.
  ///
  /// Tests change each of their bytes.
  static let packages = Result { try makePackages() }

  private static func makePackages() throws -> [(name: String, bytes: [UInt8])] {
    let folder = try TemporaryFolder()
    let files = [
      "ContentInfo.plist": contentInfoText(), "Contents/a.txt": "The fog horn sounded twice.",
      "Contents/b/c": "tide", "Contents/l": "-> a.txt",
    ]
    try write(files, to: folder.directory)
    let output = try TemporaryFolder()
    _ = try buildPackage(
      folder: folder.directory, output: output.directory, outputName: "a.pkg",
      productIdentifier: nil, version: nil)
    return [
      ("flat", try output.directory.contents(of: "a.pkg", limit: 1 << 20)),
      ("xar", try bsdtar(["--format", "xar"], folder: folder.path)),
      ("zip", try bsdtar(["--format", "zip"], folder: folder.path)),
      ("tar", try bsdtar(["--format", "ustar"], folder: folder.path)),
      ("tar.gz", try bsdtar(["--format", "ustar", "-z"], folder: folder.path)),
      ("tar.xz", try bsdtar(["--format", "ustar", "-J"], folder: folder.path)),
      ("tar.zst", try bsdtar(["--format", "ustar", "--zstd"], folder: folder.path)),
      ("tar.bz2", try bsdtar(["--format", "ustar", "-j"], folder: folder.path)),
    ]
  }

  /// Returns the unpacked files, or nil for a refused package.
  ///
  /// Other errors fail the test.
  private func outcome(_ bytes: [UInt8], _ expected: ExpectedPackage?, _ box: TemporaryFolderBox)
    throws -> [String: String]?
  {
    do {
      return try Unpacked(bytes, expected: expected, into: box).made
    } catch let error as ContentError {
      #expect(error.group == .package, "\(error)")
      return nil
    }
  }

  @Test("A package that is truncated anywhere is refused")
  func truncated() throws {
    for (name, bytes) in try Self.packages.get() {
      let whole = try Unpacked(bytes).made
      let entries = try examine(bytes).entries
      let step = max(1, bytes.count / (SlowTests.areOn ? 300 : 10))
      for length in stride(from: 0, to: bytes.count, by: step) {
        let box = TemporaryFolderBox()
        let cut = Array(bytes[..<length])
        let made = try outcome(cut, expectedPackage(entries: entries), box)
        // Only padding after the end may be missing.
        #expect(made == nil || made == whole, "\(name) cut at \(length)")
        #expect(try box.folder().directory.entries().map(\.name) == ["inside"])
        let alone = try outcome(cut, nil, TemporaryFolderBox())
        #expect(alone == nil || alone == whole, "\(name) cut at \(length), nothing expected")
      }
    }
  }

  @Test("If any byte is changed, the result is the expected content or an error")
  func flipped() throws {
    for (name, bytes) in try Self.packages.get() {
      let whole = try Unpacked(bytes).made
      let entries = try examine(bytes).entries
      let step = max(1, bytes.count / (SlowTests.areOn ? 700 : 13))
      for position in stride(from: 0, to: bytes.count, by: step) {
        var changed = bytes
        changed[position] ^= position.isMultiple(of: 2) ? 0xff : 0x10
        let box = TemporaryFolderBox()
        let made = try outcome(changed, expectedPackage(entries: entries), box)
        #expect(made == nil || made == whole, "\(name) changed at \(position)")
        #expect(try box.folder().directory.entries().map(\.name) == ["inside"])
      }
    }
  }

  @Test("A changed byte in the payload of a built package is detected without an expected package")
  func payloadChecksum() throws {
    let bytes = try builtChapter()
    for position in stride(from: bytes.count - 1, to: bytes.count - 900, by: -37) {
      var changed = bytes
      changed[position] ^= 1
      #expect(try examine(changed).findings.last?.code == .archiveDamaged)
    }
  }

  @Test("A changed byte in one long gzip member is detected without an expected package")
  func longMember() throws {
    let folder = try TemporaryFolder()
    let bytes = noise(3 << 20, seed: 1)
    try write(["ContentInfo.plist": contentInfoText()], to: folder.directory)
    try folder.directory.createDirectory("Contents").createFile("noise").write(bytes)
    let good = try bsdtar(["--format", "ustar", "-z"], folder: folder.path)
    #expect(try examine(good).isValid)
    for position in stride(from: 100_000, to: good.count, by: 600_000) {
      var changed = good
      changed[position] ^= 1
      #expect(try examine(changed).findings.map(\.code) == [.archiveDamaged])
    }
  }

  @Test("A wrong checksum in a xar is detected")
  func xarChecksum() throws {
    let folder = try TemporaryFolder()
    try write(
      ["ContentInfo.plist": contentInfoText(), "Contents/a": "abcdefgh"], to: folder.directory)
    let options = ["--format", "xar", "--options", "compression=none"]
    var bytes = try bsdtar(options, folder: folder.path)
    let place = try #require(
      bytes.indices.first { bytes[$0...].starts(with: Array("abcdefgh".utf8)) })
    bytes[place] = UInt8(ascii: "X")
    #expect(try examine(bytes).findings.map(\.rule) == ["archive-damaged"])
    #expect(code { _ = try Unpacked(bytes) } == .archiveDamaged)
  }

  @Test("A tar without its end-of-archive block is refused, even between two entries")
  func tarEnd() throws {
    let entries: [RawEntry] = [.info(), .file("Contents/a")]
    #expect(code { _ = try Unpacked(tar(entries, isEnded: false)) } == .archiveDamaged)
    #expect(code { _ = try Unpacked(tar(entries)) } == nil)
  }

  @Test("Errors of the byte source reach the caller unchanged")
  func sourceFailure() throws {
    let bytes = try builtChapter()
    let source = FailingSource(bytes, from: Int64(bytes.count / 2))
    #expect(throws: FailingSource.Failure.self) { try examinePackage(source, name: "x") }
    let folder = try TemporaryFolder()
    #expect(throws: FailingSource.Failure.self) {
      try unpackPackage(
        source, name: "x", into: folder.directory, expected: nil, progress: { _ in })
    }
  }
}

/// A source that fails from an offset on.
private final class FailingSource: ByteSource {
  struct Failure: Error {}

  private let inner: MemorySource
  private let limit: Int64

  init(_ bytes: [UInt8], from limit: Int64) {
    inner = MemorySource(bytes)
    self.limit = limit
  }

  var length: Int64 { inner.length }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    if offset + Int64(buffer.count) > limit { throw Failure() }
    return try inner.read(into: buffer, at: offset)
  }
}

import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Package formats")
struct FormatTests {
  static let options: [(options: [String], format: PackageFormat)] = [
    (["--format", "xar"], .xar), (["--format", "zip"], .zip), (["--format", "ustar"], .tar),
    (["--format", "pax"], .tar), (["--format", "gnutar"], .tar), (["-z"], .tar), (["-J"], .tar),
    (["--zstd"], .tar), (["-j"], .tar),
  ]

  @Test("Each format unpacks to its source folder", .slow, arguments: options)
  func eachFormat(options: [String], format: PackageFormat) throws {
    let folder = try chapterFolder()
    let bytes = try bsdtar(options, folder: folder.path)
    let examination = try examine(bytes)
    #expect(examination.format == format)
    #expect(examination.findings == [])
    #expect(examination.info?.productIdentifier.rawValue == "com.example.test")
    let unpacked = try Unpacked(bytes, expected: expectedPackage(entries: examination.entries))
    #expect(unpacked.made == (try tree(folder.directory)))
    #expect(unpacked.files.map(\.entry) == examination.entries)
  }

  @Test("A single top folder is removed", arguments: options)
  func topFolder(options: [String], format: PackageFormat) throws {
    let outer = try TemporaryFolder()
    try write(chapter, to: outer.directory.createDirectory("chapter-1"))
    let bytes = try bsdtar(options, folder: outer.path, ["chapter-1"])
    let unpacked = try Unpacked(bytes)
    #expect(unpacked.made == (try tree(outer.directory.directory("chapter-1"))))
  }

  @Test("A product archive with an uncompressed cpio payload is read")
  func plainPayload() throws {
    let entries: [RawEntry] = [
      .folder("."), .info(path: "./ContentInfo.plist"), .file("./Contents/a"),
    ]
    let bytes = try flatPackage(payload: cpio(entries))
    #expect(try examine(bytes).findings == [])
    #expect(try examine(bytes).format == .flatProductArchive)
    #expect(
      try Unpacked(bytes).made.keys.sorted() == ["ContentInfo.plist", "Contents", "Contents/a"])
  }

  @Test("A product archive whose payload is one long gzip member is read")
  func longMember() throws {
    let folder = try TemporaryFolder()
    let text = String(repeating: "0123456789abcdef", count: 200_000)
    let entries: [RawEntry] = [.info(), .file("Contents/long", text)]
    try folder.directory.createFile("Payload").write(cpio(entries))
    try run("/bin/gzip", ["-n", "Payload"], in: folder.path)
    let payload = try folder.directory.contents(of: "Payload.gz", limit: 1 << 24)
    let examination = try examine(flatPackage(payload: payload))
    #expect(examination.findings == [])
    #expect(examination.entries.last?.size == Int64(text.utf8.count))
  }

  @Test("A pbzx payload with compressed or stored chunks is read")
  func pbzx() throws {
    let folder = try chapterFolder()
    for format in ["odc", "newc"] {
      let plain = try bsdtar(["--format", format], folder: folder.path)
      let packed = try bsdtar(["--format", format, "-J"], folder: folder.path)
      let whole = pbzx(UInt64(plain.count), [(plain.count, packed)])
      #expect(try Unpacked(flatPackage(payload: whole)).made == tree(folder.directory))
      let length = 300_000
      let chunks = stride(from: 0, to: plain.count, by: length).map { start in
        let chunk = Array(plain[start..<min(start + length, plain.count)])
        return (chunk.count, chunk)
      }
      #expect(chunks.count > 2)
      let stored = pbzx(UInt64(length), chunks)
      #expect(try Unpacked(flatPackage(payload: stored)).made == tree(folder.directory))
      #expect(try examine(flatPackage(payload: stored)).findings == [])
    }
  }

  @Test("An inconsistent or truncated pbzx payload is refused")
  func damagedPbzx() throws {
    let plain = cpio([.info(), .file("Contents/a")])
    let good = pbzx(1 << 24, [(plain.count, plain)])
    #expect(try examine(flatPackage(payload: good)).findings == [])
    let xz: [UInt8] = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]
    for bad in [
      Array(good.dropLast()), Array(good.dropLast(plain.count)), Array(good.prefix(15)),
      good + [0], good + good.dropFirst(12), pbzx(0, [(plain.count, plain)]),
      pbzx(.max, [(plain.count, plain)]), pbzx(1 << 24, [(plain.count + 1, plain)]),
      pbzx(1 << 24, [(plain.count - 1, plain)]), pbzx(10, [(plain.count, plain)]),
      pbzx(1 << 24, [(0, [])]), pbzx(1 << 24, [(1 << 20, xz + plain)]),
    ] {
      let findings = try? examine(flatPackage(payload: bad)).findings
      #expect(findings?.isEmpty == false, "\(bad.prefix(40))")
    }
  }

  private func pbzx(_ chunkLength: UInt64, _ chunks: [(plain: Int, bytes: [UInt8])]) -> [UInt8] {
    func number(_ value: UInt64) -> [UInt8] {
      (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) }
    }
    return Array("pbzx".utf8) + number(chunkLength)
      + chunks.flatMap { number(UInt64($0.plain)) + number(UInt64($0.bytes.count)) + $0.bytes }
  }

  @Test(
    "A xar with a SHA-256 or SHA-512 digest is refused with a remedy", arguments: [UInt8(3), 4])
  func tableDigest(number: UInt8) throws {
    var bytes = try builtChapter()
    bytes[27] = number
    let error = #expect(throws: ContentError.self) { try examine(bytes) }
    #expect(error?.code == .formatUnknown)
    #expect(error?.message.contains("libarchive") == true)
    #expect(error?.remedy.contains("sha1") == true)
  }

  @Test(
    "Bytes that are not a package are refused",
    arguments: [[], Array("just text".utf8), Array("07070701".utf8), Array("Rar!\u{1a}".utf8)])
  func unknown(bytes: [UInt8]) throws {
    #expect(code { _ = try examine(bytes) } == .formatUnknown)
    #expect(code { _ = try Unpacked(bytes) } == .formatUnknown)
  }

  @Test("Only the name of a published package must end in .pkg")
  func extensionRule() {
    #expect(packageNameFinding("chapter.pkg") == nil)
    #expect(packageNameFinding("chapter.zip")?.rule == "package-extension")
    #expect(packageNameFinding(".pkg")?.rule == "package-extension")
  }

  @Test("An index by blocks covers each byte once")
  func blocks() throws {
    let bytes = [UInt8](repeating: 7, count: (1 << 20) + 5)
    let index = try PackageIndex(indexing: MemorySource(bytes), entries: [])
    #expect(index.isConsistent)
    #expect(index.blocks.count == 2)
    #expect(index.range(ofBlock: 1).count == 5)
  }

  /// Creates a product archive around any payload with bsdtar.
  private func flatPackage(payload: [UInt8]) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    try folder.directory.createFile("Distribution").write(Array("<installer-gui-script/>".utf8))
    let component = try folder.directory.createDirectory("chapter.pkg")
    try component.createFile("PackageInfo").write(Array("<pkg-info/>".utf8))
    try component.createFile("Payload").write(payload)
    return try bsdtar(["--format", "xar"], folder: folder.path, ["Distribution", "chapter.pkg"])
  }
}

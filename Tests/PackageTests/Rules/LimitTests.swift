import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Package limits")
struct LimitTests {
  @Test("A package that is too long is not read")
  func packageLength() throws {
    var limits = PackageLimits.standard
    limits.packageLength = 1000
    #expect(try examine(tar([.info()]), limits: limits).findings.map(\.rule) == ["limit-package"])
    #expect(code { _ = try Unpacked(tar([.info()]), limits: limits) } == .limitExceeded)
  }

  @Test("Implied folders count among the entries")
  func entryCount() throws {
    var limits = PackageLimits.standard
    limits.entryCount = 5
    let four: [RawEntry] = [.info(), .file("Contents/a/b"), .file("Contents/a/c")]
    #expect(try examine(tar(four), limits: limits).isValid)
    let six = four + [.file("Contents/d/e")]
    #expect(try examine(tar(six), limits: limits).findings.map(\.rule) == ["limit-entries"])
    #expect(code { _ = try Unpacked(tar(six), limits: limits) } == .limitExceeded)
  }

  @Test("The total size is limited while files are read")
  func totalSize() throws {
    var limits = PackageLimits.standard
    limits.totalSize = 600
    let text = String(repeating: "x", count: 300)
    let bytes = tar([.info(), .file("Contents/a", text), .file("Contents/b", text)])
    #expect(try examine(bytes, limits: limits).findings.map(\.code) == [.limitExceeded])
    #expect(code { _ = try Unpacked(bytes, limits: limits) } == .limitExceeded)
  }

  @Test(
    "The expansion ratio of a decompression bomb is limited", .slow,
    arguments: SlowTests.cases([["-z"], ["-J"], ["--zstd"], ["-j"]], quick: 1))
  func bomb(options: [String]) throws {
    let folder = try TemporaryFolder()
    try write(chapter, to: folder.directory)
    // A hole of 64 MiB on disk, which bsdtar packs as zeros.
    try folder.directory.directory("Contents").createFile("zeros").truncate(to: 64 << 20)
    let bytes = try bsdtar(options + ["--no-read-sparse"], folder: folder.path)
    #expect(bytes.count < 200_000)
    #expect(try examine(bytes).findings.map(\.rule) == ["limit-size"])
    #expect(code { _ = try Unpacked(bytes) } == .limitExceeded)
  }

  @Test("A sparse file's holes count as bytes")
  func sparse() throws {
    let folder = try TemporaryFolder()
    try write(chapter, to: folder.directory)
    try folder.directory.directory("Contents").createFile("zeros").truncate(to: 64 << 30)
    let bytes = try bsdtar(["--format", "pax", "--read-sparse"], folder: folder.path)
    #expect(code { _ = try Unpacked(bytes) } == .limitExceeded)
  }

  @Test("A declared size beyond the limit is refused before anything is read")
  func declared() throws {
    var huge = RawEntry.file("Contents/a")
    huge.size = 1 << 32
    #expect(code { _ = try Unpacked(tar([.info(), huge])) } == .limitExceeded)
  }

  @Test("A size that is larger than the archive is refused as truncated")
  func lyingSize() throws {
    var lying = RawEntry.file("Contents/a")
    lying.size = 5000
    #expect(code { _ = try Unpacked(tar([.info(), lying])) } == .archiveDamaged)
    #expect(try examine(tar([.info(), lying])).findings.last?.code == .archiveDamaged)
  }

  @Test("A header that would exhaust memory is refused", .slow, arguments: ["tar", "cpio"])
  func longHeader(kind: String) throws {
    let folder = try TemporaryFolder()
    let length = 64 << 20
    // A GNU long name, or a cpio (newc) name, of 256 MiB of zeros.
    var name = RawEntry(path: Array("././@LongLink".utf8), type: UInt8(ascii: "L"))
    name.size = length
    let newc =
      "070701" + String(repeating: "00000000", count: 11) + "04000000" + "00000000"
    let head = kind == "tar" ? Array(tar([.info(), name]).dropLast(1024)) : Array(newc.utf8)
    let file = try folder.directory.createFile("Payload")
    try file.write(head)
    try file.truncate(to: Int64(head.count + length))
    try run("/bin/gzip", ["-n1", "Payload"], in: folder.path)
    var bytes = try folder.directory.contents(of: "Payload.gz", limit: 1 << 24)
    if kind == "cpio" {
      try folder.directory.rename("Payload.gz", to: folder.directory, "Payload")
      try folder.directory.createFile("PackageInfo").write(Array("<pkg-info/>".utf8))
      bytes = try bsdtar(["--format", "xar"], folder: folder.path, ["PackageInfo", "Payload"])
    }
    let findings = try examine(bytes).findings
    // libarchive has its own limit for tar, but not for cpio.
    let expected: ContentError.Code = kind == "tar" ? .archiveDamaged : .limitExceeded
    #expect(findings.map(\.code).last == expected)
    #expect(code { _ = try Unpacked(bytes) } == expected)
  }
}

import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Memory use of refused packages")
struct MemoryTests {
  /// In addition to the length of the package.
  private static let allowance = 64_000_000

  @Test(
    "A refused package takes at most 64 MB more than its size",
    .enabled(if: SlowTests.allowExitTests && PeakMemory.isMeasurable),
    arguments: Glutton.allCases)
  func refused(_ glutton: Glutton) async throws {
    let folder = try TemporaryFolder()
    let bytes = glutton.bytes
    #expect(bytes.count < 3_000_000)
    try folder.directory.createFile("hostile.pkg").write(bytes)
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      try Self.expectRefused("hostile.pkg", in: path)
    }
  }

  @Test(
    "An index takes at most 64 MB more than its size",
    .enabled(if: SlowTests.allowExitTests && PeakMemory.isMeasurable))
  func index() async throws {
    await #expect(processExitsWith: .success) {
      let bytes = Self.index(entries: 100_000)
      _ = try? PackageIndex(encoded: Self.index(entries: 1))
      let memory = try PeakMemory()
      #expect(throws: ContentError.self) { try PackageIndex(encoded: bytes) }
      #expect(try memory.used() <= Self.allowance + bytes.count)
    }
  }

  @Test("An index with too many entries or members is refused", .slow)
  func counts() {
    for (bytes, reason) in [
      (Self.index(entries: 100_001), "100000 entries"), (Self.index(members: 524_289), "members"),
    ] {
      let error = #expect(throws: ContentError.self) { try PackageIndex(encoded: bytes) }
      #expect(error?.code == .storeDamaged)
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }
  }

  private static func expectRefused(_ name: String, in path: String) throws {
    let folder = try FileSystem.real.directory(at: path)
    _ = try examine(tar([.info()]))
    let memory = try PeakMemory()
    let source = try FileByteSource(folder.file(name))
    #expect(try !examinePackage(source, name: name).isValid)
    #expect(try memory.used() <= allowance + Int(source.length))
  }

  /// Creates an index of folders whose paths are 4,000 equal letters and a number.
  private static func index(entries count: Int) -> [UInt8] {
    var bytes = Array("HCIX".utf8) + [PackageIndex.currentFormat] + number(1)
    bytes += number(count)
    for place in 0..<count {
      let digits = Array(String(1_000_000 + place).utf8)
      let shared = place == 0 ? 0 : 4000
      bytes += number(shared) + number(place == 0 ? 4007 : 7)
      bytes += (place == 0 ? [UInt8](repeating: 97, count: 4000) : []) + digits + number(1)
    }
    return bytes + number(0) + number(4096) + number(1) + [UInt8](repeating: 0, count: 32)
      + number(0)
  }

  /// Creates an index without files, with members of one byte.
  private static func index(members count: Int) -> [UInt8] {
    let member = number(1) + number(0) + [UInt8](repeating: 0, count: 32)
    var bytes =
      Array("HCIX".utf8) + [PackageIndex.currentFormat] + number(count) + number(0) + number(1)
      + number(0)
    bytes += number(count)
    for _ in 0..<count { bytes += member }
    return bytes
  }

  /// LEB128.
  private static func number(_ value: Int) -> [UInt8] {
    value < 128 ? [UInt8(value)] : [UInt8(value & 127) | 128] + number(value >> 7)
  }
}

@Suite("Names in headers")
struct HeaderLimitTests {
  @Test("A zip with a name of more than 4096 bytes is refused before its data are read")
  func zip() throws {
    let name = "Contents/" + String(repeating: String(repeating: "n", count: 250) + "/", count: 20)
    let bytes = ZipWriter([.info(), .file(name + "f"), .file("../a")]).bytes
    #expect(try examine(bytes).findings.map(\.rule) == ["path-length"])
    #expect(code { _ = try Unpacked(bytes) } == .entryRefused)
  }

  @Test("A cpio of more than 32,768 files with several links is refused", .slow)
  func links() throws {
    var one = cpioNewc([.file("Contents/000000", "")]).dropLast(124)
    one.replaceSubrange(38..<46, with: Array("00000002".utf8))
    var bytes = cpioNewc([.info()]).dropLast(124)
    for number in 100_000...132_768 {
      one.replaceSubrange(119..<125, with: Array("\(number)".utf8))
      bytes += one
    }
    let findings = try examine(product(gzipped(Array(bytes)))).findings
    #expect(findings.last?.message.contains("32768") == true)
    #expect(findings.last?.rule == "limit-entries")
  }
}

@Suite("Decompression windows", .long)
struct WindowTests {
  @Test(
    "A package that needs too much memory to decompress is refused with a remedy", .slow,
    arguments: [
      ["-J", "--options", "xz:compression-level=9"],
      ["--zstd", "--options", "zstd:compression-level=22"],
      ["--format", "xar", "--options", "xar:compression=xz,compression-level=9"],
      ["--format", "xar", "--options", "xar:compression=lzma,compression-level=9"],
    ])
  func tooLarge(options: [String]) throws {
    let folder = try chapterFolder()
    let bytes = try bsdtar(options, folder: folder.path)
    let findings = try examine(bytes).findings
    #expect(findings.map(\.rule) == ["limit-window"])
    #expect(findings.first?.remedy.contains("xz -6") == true)
    #expect(code { _ = try Unpacked(bytes) } == .limitExceeded)
  }

  @Test(
    "A package with the window of usual compression levels is read", .slow,
    arguments: [
      ["-J", "--options", "xz:compression-level=6"], ["-J", "--options", "xz:threads=2"],
      ["--zstd", "--options", "zstd:compression-level=19"],
      ["--format", "xar", "--options", "xar:compression=xz,compression-level=6"],
      ["--format", "xar", "--options", "xar:compression=lzma,compression-level=6"],
    ])
  func usual(options: [String]) throws {
    let folder = try chapterFolder()
    // Several blocks, some of which do not compress.
    try folder.directory.directory("Contents").createFile("noise").write(noise(3_000_000, seed: 7))
    let bytes = try bsdtar(options, folder: folder.path)
    #expect(try examine(bytes).findings == [])
    #expect(try Unpacked(bytes).made == tree(folder.directory))
  }

  @Test(
    "A zip that needs 256 MiB of memory to decompress is refused",
    arguments: [
      (14, [16, 2, 5, 0, 0x5d, 0, 0, 0, 16]),
      (93, [0x28, 0xb5, 0x2f, 0xfd, 0, 0x90]),
      (95, [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0x21, 1, 0x20]),
      (98, [0xf5, 0x0f]),
    ] as [(Int, [UInt8])])
  func zip(method: Int, header: [UInt8]) throws {
    for hasDescriptor in [false, true] {
      var writer = ZipWriter([.info(), .file("Contents/a")])
      let data = header + [UInt8](repeating: 0, count: 16)
      writer.entries[1].data = data
      for header in [\ZipWriter.Entry.local, \.central] {
        writer.entries[1][keyPath: header].method = method
        writer.entries[1][keyPath: header].packed = data.count
        writer.entries[1][keyPath: header].flags |= hasDescriptor ? 8 : 0
        // With a descriptor, 0 means that the length is unknown.
        writer.entries[1][keyPath: header].plain = hasDescriptor ? 0 : 1 << 28
      }
      #expect(try examine(writer.bytes).findings.map(\.rule) == ["limit-window"])
    }
  }

  @Test("A short file of a zip may declare a larger window, as 7-Zip does in a large archive")
  func shortFile() throws {
    let text = "some text some text some text some text some text\n"
    var writer = ZipWriter([.info(), .file("Contents/a", text)])
    // LZMA with a window of 32 MiB, and with a mark at its end.
    let data: [UInt8] = [
      26, 2, 5, 0, 93, 0, 0, 0, 2, 0, 57, 155, 201, 242, 231, 80, 184, 197, 226, 92, 181, 131, 176,
      31, 33, 202, 189, 255, 255, 253, 150, 32, 0,
    ]
    writer.entries[1].data = data
    for header in [\ZipWriter.Entry.local, \.central] {
      writer.entries[1][keyPath: header].flags |= 2
      writer.entries[1][keyPath: header].method = 14
      writer.entries[1][keyPath: header].packed = data.count
    }
    #expect(try examine(writer.bytes).findings == [])
  }

  @Test("Several streams and frames are read, with padding and skippable frames")
  func concatenated() throws {
    let folder = try TemporaryFolder()
    let plain = tar([.info(), .file("Contents/a", String(repeating: "text ", count: 100_000))])
    for (index, part) in [plain[..<1000], plain[1000...]].enumerated() {
      try folder.directory.createFile("\(index)").write(Array(part))
    }
    for (option, between) in [
      ("xz", [UInt8](repeating: 0, count: 8)),
      ("zstd", [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]),
    ] {
      let parts = try ["0", "1"].map { name in
        try run(
          "/usr/bin/bsdtar", ["--format", "raw", "--\(option)", "-cf", "\(name).\(option)", name],
          in: folder.path)
        return try folder.directory.contents(of: "\(name).\(option)", limit: 1 << 24)
      }
      #expect(try examine(parts[0] + between + parts[1]).findings == [], "\(option)")
    }
  }
}

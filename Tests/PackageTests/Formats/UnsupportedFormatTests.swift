import HostedModel
import HostedPackage
import HostedFileIO
import HostedConcurrency
import HostedTestSupport
import Testing

/// Archives that are valid, but in an unsupported format.
@Suite("Unsupported formats")
struct UnsupportedFormatTests {
  private static let entries: [RawEntry] = [.info(), .file("Contents/a", "some text")]

  /// Returns the error or the only finding that refuses a package.
  private func refusal(_ bytes: [UInt8]) -> ContentError? {
    do {
      return try examine(bytes).findings.first?.error(in: "test.pkg")
    } catch {
      return error as? ContentError
    }
  }

  private func zip(_ change: (inout ZipWriter.Header) -> Void) -> [UInt8] {
    var writer = ZipWriter(Self.entries)
    change(&writer.entries[1].local)
    change(&writer.entries[1].central)
    return writer.bytes
  }

  @Test("An encrypted zip is refused as encrypted")
  func encrypted() throws {
    for bytes in [zip { $0.flags |= 1 }, zip { $0.method = 99 }] {
      let error = try #require(refusal(bytes))
      #expect(error.code == .formatUnknown)
      #expect(error.message.contains("“Contents/a” is encrypted"))
      #expect(error.remedy.contains("without a password"))
    }
  }

  @Test(
    "The error names an unsupported compression method",
    arguments: [(9, "Deflate64"), (1, "1"), (6, "6"), (10, "10"), (97, "97")])
  func method(method: Int, name: String) throws {
    let error = try #require(refusal(zip { $0.method = method }))
    #expect(error.code == .formatUnknown)
    #expect(error.message.contains("compression method \(name)"))
    #expect(error.remedy.contains("Deflate"))
  }

  @Test("Supported methods are not refused by their number", arguments: [8, 12, 14, 95])
  func readMethods(method: Int) throws {
    // The data do not have that method, so they are damaged.
    #expect(refusal(zip { $0.method = method })?.code == .archiveDamaged)
  }

  @Test("A compressed cpio archive (cpgz) is refused as unsupported", arguments: [true, false])
  func cpgz(isNew: Bool) throws {
    let plain = isNew ? cpioNewc(Self.entries) : cpio(Self.entries)
    for bytes in [gzipped(plain), plain] {
      let error = try #require(refusal(bytes))
      #expect(error.code == .formatUnknown)
      #expect(error.message.contains("cpio"))
    }
  }
}

/// Limits that a folder breaks, which are found before anything is written.
@Suite("Build limits")
struct BuildLimitTests {
  private let folder: TemporaryFolder
  private let output: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    output = try TemporaryFolder()
    try folder.directory.createDirectory("Contents")
  }

  /// Builds in a folder in which no file can be created.
  private func refusal() throws -> ContentError? {
    let output = try output.opened(.failing(.create))
    return #expect(throws: ContentError.self) {
      _ = try buildPackage(
        folder: folder.directory, output: output, outputName: "a.pkg",
        productIdentifier: ProductIdentifier("a"), version: ContentVersion("1"))
    }
  }

  private func addHole(_ name: String, _ size: Int64) throws {
    let contents = try folder.directory.directory("Contents")
    try contents.createFile(name).truncate(to: size)
  }

  @Test("A sparse file that would expand too much is found before packing")
  func sparse() throws {
    try addHole("hole", 1 << 30)
    let error = try refusal()
    #expect(error?.code == .limitExceeded)
    #expect(error?.message.contains("200 times") == true)
  }

  @Test("More than 8 GiB in total are found before packing")
  func total() throws {
    for number in 0..<3 { try addHole("hole-\(number)", 3 << 30) }
    let error = try refusal()
    #expect(error?.code == .limitExceeded)
    #expect(error?.message.contains("\(8 << 30)") == true)
  }

  @Test("A package that becomes too long fails at that point, and is not read back")
  func packed() throws {
    var random = SplitMix(state: 1)
    try folder.directory.directory("Contents").createFile("noise").write(random.bytes(8 << 20))
    let readBack = Atomic(false)
    let watched = FileSystem { operation, path in
      if operation == .open, path.hasSuffix(".new") { readBack.store(true, ordering: .relaxed) }
    }
    var limits = PackageLimits.standard
    limits.packageLength = 1 << 20
    let output = try output.opened(watched)
    let error = #expect(throws: ContentError.self) {
      _ = try buildPackage(
        folder: folder.directory, output: output, outputName: "a.pkg",
        productIdentifier: ProductIdentifier("a"), version: ContentVersion("1"), limits: limits)
    }
    #expect(error?.code == .limitExceeded)
    #expect(error?.message.contains("\(1 << 20)") == true)
    let wasReadBack = readBack.load(ordering: .relaxed)
    #expect(!wasReadBack)
    #expect(try output.entries().isEmpty)
  }

  @Test("The error for too many entries mentions that folders count")
  func entries() throws {
    var limits = PackageLimits.standard
    limits.entryCount = 3
    let bytes = tar([.info(), .file("Contents/a/b/c")])
    let finding = try #require(examine(bytes, limits: limits).findings.first)
    #expect(finding.rule == "limit-entries")
    #expect(finding.message.contains("folders count"))
  }
}

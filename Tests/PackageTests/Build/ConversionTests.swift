import HostedModel
import HostedPackage
import HostedFileIO
import Glibc
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Converting archives of other tools")
struct ConversionTests {
  private let output: TemporaryFolder

  init() throws { output = try TemporaryFolder() }

  /// The supported formats, as archives of the chapter.
  enum Format: String, CaseIterable, CustomTestStringConvertible {
    case ustar, pax, gnutar, gzip, xz, zstd, bzip2, zip, storedZip, xar
    case gzipProduct, plainProduct, pbzxProduct, ownProduct

    var testDescription: String { rawValue }

    func archive(of folder: TemporaryFolder) throws -> [UInt8] {
      func pack(_ options: String...) throws -> [UInt8] {
        try bsdtar(options, folder: folder.path)
      }
      switch self {
      case .ustar, .pax, .gnutar, .zip, .xar: return try pack("--format", rawValue)
      case .gzip: return try pack("-z")
      case .xz: return try pack("-J")
      case .zstd: return try pack("--zstd")
      case .bzip2: return try pack("-j")
      case .storedZip: return try pack("--format", "zip", "--options", "zip:compression=store")
      case .gzipProduct: return try productArchive(payload: pack("--format", "cpio", "-z"))
      case .plainProduct: return try productArchive(payload: pack("--format", "newc"))
      case .pbzxProduct:
        return try productArchive(
          payload: storedPbzx(pack("--format", "cpio"), chunk: 64 << 10))
      case .ownProduct: return try builtChapter()
      }
    }
  }

  private func convert(
    _ bytes: [UInt8], product: String? = nil, content: String? = nil, version: String? = nil,
    into folder: Directory? = nil
  ) throws -> PackageExamination {
    try convertPackage(
      MemorySource(bytes), name: "test.zip", output: folder ?? output.directory,
      outputName: "out.pkg",
      productIdentifier: product.map { try ProductIdentifier(validating: $0) },
      contentIdentifier: content.map { try ProductIdentifier(validating: $0) },
      version: version.map { try ContentVersion(validating: $0) })
  }

  private func converted() throws -> [UInt8] {
    try output.directory.contents(of: "out.pkg", limit: 1 << 26)
  }

  private var names: [String] {
    get throws { try output.directory.entries().map(\.name).sorted() }
  }

  @Test(
    "Each format is converted to the package of its folder, byte for byte", .slow,
    arguments: Format.allCases)
  func formats(_ format: Format) throws {
    let examination = try convert(format.archive(of: chapterFolder()))
    #expect(examination.info?.productIdentifier.rawValue == "com.example.test")
    #expect(try converted() == builtChapter())
    #expect(try names == ["out.pkg"])
  }

  @Test(
    "Each sample keeps its files, and has members after the conversion", .slow,
    arguments: SampleTests.good
  )
  func samples(_ sample: SampleTests.Good) throws {
    let bytes = try FileSystem.real.file(at: "\(SampleTests.folder)/\(sample.path)")
      .contents(limit: 1 << 26)
    let examination = try convert(bytes)
    #expect(examination.info?.contentIdentifier.rawValue == sample.content)
    #expect(examination.info?.version.rawValue == sample.version)
    #expect(try Unpacked(converted()).made == Unpacked(bytes).made)
    let index = try PackageIndex(
      indexing: MemorySource(converted()), entries: examination.entries)
    #expect(index.payload != nil, "\(index.obstacle ?? "")")
  }

  @Test("Hard links become files, and implied folders are created")
  func hardLinks() throws {
    let bytes = tar([
      .info(), .file("Contents/a/b", "text"), .hardLink("Contents/c", "Contents/a/b"),
    ])
    let examination = try convert(bytes)
    #expect(try Unpacked(converted()).made == Unpacked(bytes).made)
    let index = try PackageIndex(
      indexing: MemorySource(converted()), entries: examination.entries)
    #expect(index.payload != nil)
  }

  @Test("A single top folder is removed", .slow)
  func topFolder() throws {
    let outer = try TemporaryFolder()
    try write(chapter, to: outer.directory.createDirectory("chapter-1"))
    _ = try convert(bsdtar(["--format", "zip"], folder: outer.path, ["chapter-1"]))
    #expect(try converted() == builtChapter())
  }

  @Test("A product and a version replace an invalid or missing ContentInfo.plist")
  func contentInfo() throws {
    let bare = tar([.file("Contents/a", "text")])
    let error = #expect(throws: ContentError.self) { try convert(bare) }
    #expect(error?.code == .contentInfoInvalid)
    #expect(error?.message.contains("test.zip") == true)
    #expect(code { _ = try convert(bare, version: "1") } == .contentInfoInvalid)
    #expect(try names == [])
    let made = try convert(bare, product: "com.example.new", content: "x", version: "1.1")
    #expect(made.info?.productIdentifier.rawValue == "com.example.new")
    #expect(made.info?.contentIdentifier.rawValue == "x")
    #expect(made.info?.version.rawValue == "1.1")
    let known = try convert(tar([.info(), .file("Contents/a", "text")]), version: "7")
    #expect(known.info?.productIdentifier.rawValue == "com.example.test")
    #expect(known.info?.version.rawValue == "7")
    let broken = tar([.file("ContentInfo.plist", "no list"), .file("Contents/a", "text")])
    #expect(code { _ = try convert(broken, product: "a", version: "1") } == .contentInfoInvalid)
    #expect(try names == ["out.pkg"])
  }

  // MARK: Errors

  @Test("All findings are reported, and nothing is written")
  func findings() throws {
    try output.directory.createFile("out.pkg").write(Array("old".utf8))
    let bytes = tar([
      .info(), .file("Contents/run", "#!/bin/sh"), .file("Contents/x", mode: 0o755),
      .file("readme"),
    ])
    let error = #expect(throws: ContentError.self) { try convert(bytes) }
    for name in ["test.zip", "Contents/run", "Contents/x", "readme"] {
      #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
    }
    #expect(try converted() == Array("old".utf8))
    #expect(try names == ["out.pkg"])
  }

  @Test(
    "A hostile archive is refused, and nothing is written",
    arguments: SampleTests.bad.filter { !$0.path.contains("wrong-") })
  func badSamples(sample: (path: String, code: ContentError.Code)) throws {
    let inside = try output.directory.createDirectory("inside")
    let hasCreated = Atomic(false)
    let watched = try FileSystem { operation, _ in
      if [.create, .createDirectory].contains(operation) {
        hasCreated.store(true, ordering: .relaxed)
      }
    }.directory(at: inside.path)
    let thrown = code {
      let file = try FileSystem.real.file(at: "\(SampleTests.folder)/\(sample.path)")
      _ = try convertPackage(
        FileByteSource(file), name: sample.path, output: watched, outputName: "out.pkg")
    }
    #expect(thrown == sample.code)
    let wasCreated = hasCreated.load(ordering: .relaxed)
    #expect(!wasCreated)
    #expect(try names == ["inside"])
    #expect(try inside.entries().isEmpty)
  }

  @Test("Only a regular file is replaced")
  func special() throws {
    try output.directory.createLink("out.pkg", to: "elsewhere")
    #expect(code { _ = try convert(tar([.info(), .file("Contents/a")])) } == .usage)
    #expect(try names == ["out.pkg"])
    #expect(try output.directory.link("out.pkg") == "elsewhere")
  }

  @Test("The error for an archive without Contents names the archive")
  func noContents() throws {
    let error = #expect(throws: ContentError.self) { try convert(tar([.info()])) }
    #expect(error?.message.contains("test.zip") == true, "\(error?.message ?? "")")
    #expect(error?.message.contains(".unpacked") == false, "\(error?.message ?? "")")
    #expect(try names == [])
  }

  // MARK: The temporary folder

  @Test("If any step fails, nothing is left")
  func failures() throws {
    let bytes = tar([.info(), .file("Contents/a/b", "text"), .link("Contents/l", "a/b")])
    var number = 1
    while true {
      let plan = FaultPlan(failing: number, as: ENOSPC)
      do {
        _ = try convert(bytes, into: output.opened(plan.fileSystem))
      } catch let error as ContentError {
        #expect(error.code == .diskFull, "step \(number)")
        #expect(try names.allSatisfy { $0 == "out.pkg" }, "step \(number)")
      }
      guard plan.hasFired else { break }
      number += 1
    }
    #expect(number > 10)
    #expect(try names == ["out.pkg"])
  }

  @Test("Only this user can open the temporary folder")
  func privateFolder() throws {
    let modes = Mutex<Set<UInt32>>([])
    let output = try output.opened(
      FileSystem { [output] operation, path in
        guard operation == .create, path.contains(".unpacked-") else { return }
        for entry in try output.directory.entries() where entry.kind == .directory {
          let mode = try output.directory.status(of: entry.name)?.permissions
          modes.withLock { _ = $0.insert(mode ?? 0) }
        }
      })
    _ = try convert(tar([.info(), .file("Contents/a")]), into: output)
    #expect(modes.withLock { $0 } == [0o700])
  }

  @Test("A temporary folder is removed with its content, even after an error")
  func temporaryFolder() throws {
    struct Failure: Error {}
    try output.directory.createFile("kept").write([1])
    for fails in [false, true] {
      let name = try? output.directory.withTemporaryDirectory(".work") { folder in
        try folder.createDirectory("a").createFile("b").write([1])
        #expect(try names.count == 2)
        if fails { throw Failure() }
        return folder.path
      }
      #expect((name == nil) == fails)
      #expect(try names == ["kept"])
    }
  }
}

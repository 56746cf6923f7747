import HostedModel
import HostedPackage
import HostedFileIO
import Glibc
import HostedTestSupport
import Testing

@Suite("Unpacking packages")
struct UnpackTests {
  private let entries: [RawEntry] = [
    .info(), .folder("Contents/"), .file("Contents/a", "alpha"), .file("Contents/d/b", "beta"),
    .link("Contents/l", "a"),
  ]

  private func files() throws -> [IndexedFile] { try examine(tar(entries)).entries }

  @Test("Each entry is returned with its identity on disk, sorted by path")
  func identities() throws {
    let unpacked = try Unpacked(tar(entries))
    let inside = try unpacked.outside.folder().directory.directory("inside")
    #expect(
      unpacked.files.map(\.entry.path) == [
        "ContentInfo.plist", "Contents", "Contents/a", "Contents/d", "Contents/d/b", "Contents/l",
      ])
    for file in unpacked.files {
      let parts = file.entry.path.pathComponents()
      let status = try inside.directory(at: parts.dropLast()).status(of: parts.last ?? "")
      switch file.entry.kind {
      case .file:
        #expect(status?.identity == file.identity)
        #expect(status?.permissions == 0o444)
      case .directory:
        #expect(file.identity == nil)
        #expect(status?.permissions == 0o755)
      case .link: #expect(file.identity == nil && file.entry.target == "a")
      }
    }
  }

  @Test("The expected package is unpacked")
  func asExpected() throws {
    #expect(
      code { _ = try Unpacked(tar(entries), expected: expectedPackage(entries: files())) } == nil)
    #expect(code { _ = try Unpacked(tar(entries), expected: expectedPackage(entries: nil)) } == nil)
  }

  @Test("A product or version that is not the expected one is refused")
  func wrongInfo() throws {
    let product = try expectedPackage("com.example.other", entries: files())
    #expect(code { _ = try Unpacked(tar(entries), expected: product) } == .wrongProduct)
    let version = try expectedPackage("com.example.test", "1.1", entries: nil)
    #expect(code { _ = try Unpacked(tar(entries), expected: version) } == .wrongVersion)
  }

  @Test("Another content of the expected product is refused, and the message names it")
  func wrongContent() throws {
    let audio = tar([.info(content: "com.example.test.audio")] + entries.dropFirst())
    let own = try expectedPackage(entries: nil)
    let error = #expect(throws: ContentError.self) { _ = try Unpacked(audio, expected: own) }
    #expect(error?.code == .wrongProduct)
    #expect(error?.message.contains("com.example.test.audio of com.example.test") == true)
    let expected = try expectedPackage(content: "com.example.test.audio", entries: nil)
    #expect(code { _ = try Unpacked(audio, expected: expected) } == nil)
    #expect(code { _ = try Unpacked(tar(entries), expected: expected) } == .wrongProduct)
  }

  @Test("Any difference from the expected entries is refused")
  func differences() throws {
    let good = try files()
    let additional = good + [IndexedFile(path: "Contents/z", kind: .directory)]
    var changes: [[IndexedFile]] = [additional]
    for index in good.indices {
      changes.append(good.enumerated().filter { $0.offset != index }.map(\.element))
      var changed = good
      let old = good[index]
      changed[index] = IndexedFile(
        path: old.path, kind: old.kind, size: old.size,
        digest: Digest(bytes: [UInt8](repeating: 7, count: 32)),
        target: old.target.map { $0 + "/." })
      if old.kind != .directory { changes.append(changed) }
    }
    for expected in changes {
      let thrown = code {
        _ = try Unpacked(tar(entries), expected: expectedPackage(entries: expected))
      }
      #expect(thrown == .indexMismatch)
    }
  }

  @Test("An expected path or target in another Unicode form does not match")
  func unicodeForms() throws {
    let decomposed = String(decoding: OddName.decomposed, as: UTF8.self)
    let bytes = tar([
      .info(), .file("Contents/\(OddName.composed)"), .link("Contents/l", OddName.composed),
    ])
    let good = try examine(bytes).entries
    #expect(code { _ = try Unpacked(bytes, expected: expectedPackage(entries: good)) } == nil)
    for path in ["Contents/\(OddName.composed)", "Contents/l"] {
      let other = good.map { file in
        guard file.path == path else { return file }
        return IndexedFile(
          path: "Contents/\(file.kind == .link ? "l" : decomposed)", kind: file.kind,
          size: file.size, digest: file.digest, target: file.target.map { _ in decomposed })
      }
      let thrown = code { _ = try Unpacked(bytes, expected: expectedPackage(entries: other)) }
      #expect(thrown == .indexMismatch, "\(path)")
    }
  }

  @Test("An entry that is not expected is not written")
  func nothingWritten() throws {
    let box = TemporaryFolderBox()
    let expected = try files().filter { $0.path != "Contents/d" && $0.path != "Contents/d/b" }
    #expect(
      code {
        _ = try Unpacked(tar(entries), expected: expectedPackage(entries: expected), into: box)
      }
        == .indexMismatch)
    let made = try tree(box.folder().directory)
    #expect(made["inside/Contents/d"] == nil)
  }

  @Test("An existing link at a path is not followed")
  func linkInTheWay() throws {
    let folder = try TemporaryFolder()
    let inside = try folder.directory.createDirectory("inside")
    try folder.directory.createDirectory("outside")
    try inside.createLink("Contents", to: "../outside")
    let thrown = code {
      _ = try unpackPackage(
        MemorySource(tar(entries)), name: "x", into: inside, expected: nil, progress: { _ in })
    }
    #expect(thrown != nil)
    #expect(try folder.directory.directory("outside").entries().isEmpty)
  }

  @Test("An existing file at a path is not overwritten")
  func fileInTheWay() throws {
    let folder = try TemporaryFolder()
    try folder.directory.createDirectory("Contents").createFile("a").write([1])
    let thrown = code {
      _ = try unpackPackage(
        MemorySource(tar(entries)), name: "x", into: folder.directory, expected: nil,
        progress: { _ in })
    }
    #expect(thrown == .fileFailed)
    let contents = try folder.directory.directory("Contents")
    #expect(try contents.contents(of: "a", limit: 10) == [1])
  }

  @Test("Progress counts decompressed bytes, and can throw to stop")
  func progress() throws {
    struct Stop: Error {}
    let bytes = try builtChapter()
    let folder = try TemporaryFolder()
    var seen: [Int64] = []
    _ = try unpackPackage(
      MemorySource(bytes), name: "x", into: folder.directory, expected: nil,
      progress: { seen.append($0) })
    #expect(seen == seen.sorted())
    #expect(seen.last == (try examine(bytes).installedSize))
    let other = try TemporaryFolder()
    #expect(throws: Stop.self) {
      try unpackPackage(
        MemorySource(bytes), name: "x", into: other.directory, expected: nil,
        progress: { if $0 > 300_000 { throw Stop() } })
    }
  }

  @Test("A full disk is reported as diskFull")
  func fullDisk() throws {
    let folder = try TemporaryFolder()
    let thrown = code {
      _ = try unpackPackage(
        MemorySource(tar(entries)), name: "x", into: folder.opened(.failing(.write)), expected: nil,
        progress: { _ in })
    }
    #expect(thrown == .diskFull)
  }

  @Test("A folder that appears with the temporary name causes an error and keeps its files")
  func folderAppears() throws {
    let folder = try TemporaryFolder()
    let racing = FileSystem { operation, path in
      guard operation == .createDirectory, path.contains(".target.unpacking") else { return }
      let name = path.split(separator: "/").last.map(String.init) ?? ""
      try folder.directory.createDirectory(name).replaceFile("thesis.txt", with: [1])
    }
    let thrown = code {
      _ = try unpack(
        MemorySource(tar(entries)), name: "x", as: "target", in: folder.opened(racing))
    }
    #expect(thrown == .fileFailed)
    let left = try folder.directory.entries().map(\.name)
    #expect(left.count == 1)
    for name in left {
      #expect(try folder.directory.directory(name).contents(of: "thesis.txt", limit: 10) == [1])
    }
  }

  @Test("Two calls that unpack to the same path do not affect each other's files")
  func atOnce() throws {
    let folder = try TemporaryFolder()
    let package = MemorySource(tar(entries))
    var inner: ContentError.Code?
    let files = try unpack(package, name: "x", as: "target", in: folder.directory) { _ in
      guard inner == nil else { return }
      struct Stop: Error {}
      inner = .stopped
      #expect(throws: Stop.self) {
        try unpack(package, name: "x", as: "target", in: folder.directory) { _ in throw Stop() }
      }
    }
    #expect(inner != nil)
    #expect(files.count == 6)
    #expect(try folder.directory.entries().map(\.name) == ["target"])
    #expect(try tree(folder.directory.directory("target")).count == 6)
  }

  @Test("Unpacking leaves nothing behind if any operation fails")
  func nothingLeft() throws {
    for n in 1... {
      let folder = try TemporaryFolder()
      let plan = FaultPlan(failing: n, as: EMFILE)
      let opened = try? folder.opened(plan.fileSystem)
      let isDone =
        (try? opened.map {
          try unpack(MemorySource(tar(entries)), name: "x", as: "target", in: $0)
        }) != nil
      let names = try folder.directory.entries().map(\.name)
      #expect(names == (isDone ? ["target"] : []), "operation \(n)")
      if !plan.hasFired { break }
    }
  }
}

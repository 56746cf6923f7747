import HostedModel
import HostedPackage
import HostedDigests
import HostedFileIO
import Glibc
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Assembling a content from members")
struct AssemblyTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `each file is created, sealed and returned with its digest and identity`() throws {
    let content = try BuiltContent.library
    let (files, fetched) = try content.assemble(in: folder.directory)
    #expect(files.map(\.entry) == content.index.files)
    #expect(fetched < content.index.packageLength)
    for (path, bytes) in library() {
      #expect(try read(path) == bytes, "\(path)")
      #expect(try status(path)?.permissions == 0o444, "\(path)")
      let identity = files.first { $0.entry.path == path }?.identity
      #expect(try status(path)?.identity == identity, "\(path)")
    }
  }

  @Test func `the result is the same as that of the unpacker`() throws {
    let content = try BuiltContent.library
    let (files, _) = try content.assemble(in: folder.directory)
    let unpacked = try Unpacked(
      content.bytes, expected: expectedPackage(entries: content.index.files))
    #expect(try tree(folder.directory) == unpacked.made)
    #expect(files.map(\.entry) == unpacked.files.map(\.entry))
  }

  /// In Swift, such a mark and the slash before it are one character.
  @Test func `a name may start with a combining mark`() throws {
    let files = [
      "Contents/\u{338}a/\u{301}b.txt": Array("one".utf8), "Contents/a/\u{338}": Array("two".utf8),
    ]
    let content = try BuiltContent(files)
    #expect(content.index.payload != nil)
    let (made, _) = try content.assemble(in: folder.directory)
    let unpacked = try Unpacked(
      content.bytes, expected: expectedPackage(entries: content.index.files))
    #expect(try tree(folder.directory) == unpacked.made)
    let installed = ReusableTree(root: folder.directory, files: made)
    #expect(try content.survey(nil, reusing: [installed]).missing.isEmpty)
    for (path, bytes) in files { #expect(try read(path) == bytes, "\(path)") }
  }

  @Test(.slow) func `stored data are written by the fetching thread, text also by others`() throws {
    let film = noise(3 << 20, seed: 5)
    let text = Array(String(repeating: "All work and no play. ", count: 400_000).utf8)
    let content = try BuiltContent(["Contents/film.bin": film, "Contents/text.txt": text])
    let writers = Mutex<[String: Set<UInt>]>([:])
    let noting = FileSystem(willPerform: { step, path in
      guard step == .write else { return }
      writers.withLock { _ = $0[String(path.suffix(8)), default: []].insert(UInt(pthread_self())) }
    })
    let survey = try content.survey(nil)
    let assembly = try PackageAssembly(
      survey, name: "out.pkg", expected: expectedPackage(entries: content.index.files),
      in: noting.directory(at: folder.path), workers: 2, comparingDigests: false,
      progress: { _ in })
    for member in survey.missing {
      let start = Int(member.offset)
      let bytes = LentBytes(copyOf: content.bytes[start..<(start + member.length)])
      try assembly.take(bytes, at: member.offset)
    }
    _ = try assembly.finish()
    #expect(try read("Contents/film.bin") == film)
    #expect(try read("Contents/text.txt") == text)
    #expect(writers.withLock { $0["film.bin"]?.contains(UInt(pthread_self())) } == true)
    // Sealing is also a step of this kind. The last thread performs it.
    #expect(writers.withLock { $0["film.bin"]?.count } == 1)
    #expect(writers.withLock { $0["text.txt"]?.contains { $0 != UInt(pthread_self()) } } == true)
  }

  @Test func `members may arrive in any order`() throws {
    let content = try BuiltContent.library
    let survey = try content.survey(nil)
    let assembly = try PackageAssembly(
      survey, name: "out.pkg", expected: expectedPackage(entries: content.index.files),
      in: folder.directory, progress: { _ in })
    for member in survey.missing.reversed() {
      let start = Int(member.offset)
      let bytes = LentBytes(copyOf: content.bytes[start..<(start + member.length)])
      try assembly.take(bytes, at: member.offset)
    }
    #expect(try assembly.finish().map(\.entry) == content.index.files)
    #expect(try read("Contents/film.bin") == library()["Contents/film.bin"])
  }

  // MARK: Resuming

  @Test(arguments: [0, 1, 3, 7, 12])
  func `data of an interrupted attempt are not fetched again`(count: Int) throws {
    let content = try BuiltContent.library
    let all = try content.survey(nil).missing
    try content.assemble(in: folder.directory, limit: count)
    let rest = try content.survey(folder.directory).missing
    #expect(rest == Array(all.dropFirst(count)))
    let (files, _) = try content.assemble(in: folder.directory)
    #expect(files.map(\.entry) == content.index.files)
    for (path, bytes) in library() { #expect(try read(path) == bytes, "\(path)") }
  }

  @Test func `torn files are created again, and unexpected entries are removed`() throws {
    let content = try BuiltContent.library
    try content.assemble(in: folder.directory)
    let pages = try folder.directory.directory(at: ["Contents", "pages"])
    try pages.removeFile("page-3.txt")
    try pages.createFile("page-3.txt", mode: 0o444).write([1, 2, 3])
    try pages.createFile("stranger").write([1])
    let contents = try folder.directory.directory("Contents")
    try contents.removeFile("film.bin")
    let torn = try contents.createFile("film.bin")
    try torn.write(Array((library()["Contents/film.bin"] ?? []).prefix(700_000)))
    try contents.removeFile("empty")
    try contents.createDirectory("empty")
    let missing = try content.survey(folder.directory).missing
    #expect(try (2..<content.survey(nil).missing.count).contains(missing.count))
    try content.assemble(in: folder.directory)
    for (path, bytes) in library() { #expect(try read(path) == bytes, "\(path)") }
    #expect(try pages.status(of: "stranger") == nil)
  }

  @Test func `an unexpected entry with an invalid or equivalent name is removed`() throws {
    let content = try BuiltContent(
      ["Contents/\(OddName.composed)": Array("text".utf8)])
    let contents = try folder.directory.createDirectory("Contents")
    try #require(contents.make(OddName.noText))
    try #require(contents.make(OddName.decomposed))
    try content.assemble(in: folder.directory)
    #expect(try contents.entries().map(\.bytes) == [Array(OddName.composed.utf8)])
  }

  @Test func `a large file that is complete but not sealed needs no member`() throws {
    let content = try BuiltContent.library
    try content.assemble(in: folder.directory)
    let bytes = library()["Contents/film.bin"] ?? []
    let contents = try folder.directory.directory("Contents")
    try contents.removeFile("film.bin")
    try contents.createFile("film.bin").write(bytes)
    #expect(try content.survey(folder.directory).missing.isEmpty)
    try content.assemble(in: folder.directory)
    #expect(try status("Contents/film.bin")?.permissions == 0o444)
  }

  @Test(arguments: ["Contents/film.bin", "Contents/pages/page-7.txt"])
  func `a staged file that cannot be read is fetched again`(path: String) throws {
    let content = try BuiltContent.library
    try content.assemble(in: folder.directory)
    let failing = FileSystem(willPerform: { step, place in
      if step == .read, place.hasSuffix(path) { throw SystemFailure(EIO) }
    })
    let survey = try content.survey(folder.opened(failing))
    #expect(!survey.missing.isEmpty)
    try content.finish(survey, in: folder.directory)
    #expect(try read(path) == library()[path])
  }

  @Test func `a large file with the first pieces of a longer one is cut to its length`() throws {
    let content = try BuiltContent.library
    let contents = try folder.directory.createDirectory("Contents")
    let bytes = library()["Contents/film.bin"] ?? []
    try contents.createFile("film.bin").write(bytes + [1, 2, 3])
    try content.assemble(in: folder.directory)
    #expect(try read("Contents/film.bin") == bytes)
  }

  @Test func `a link with an equivalent target is created again`() throws {
    let content = try BuiltContent(["Contents/book.txt": [1, 2, 3]])
    let payload = try #require(content.index.payload)
    let link = IndexedFile(path: "Contents/l", kind: .link, target: OddName.composed)
    let index = PackageIndex(
      packageLength: content.index.packageLength,
      payload: PayloadIndex(
        offset: payload.offset, members: payload.members, dataOffsets: payload.dataOffsets + [0]),
      files: content.index.files + [link])
    let contents = try folder.directory.createDirectory("Contents")
    try contents.createLink("l", to: String(decoding: OddName.decomposed, as: UTF8.self))
    try content.assemble(in: folder.directory, index: index)
    #expect(try contents.linkBytes("l") == Array(OddName.composed.utf8))
  }

  // MARK: Errors

  @Test func `a member that does not match the index is refused`() throws {
    let content = try BuiltContent.library
    let survey = try content.survey(nil)
    let assembly = try PackageAssembly(
      survey, name: "out.pkg", expected: expectedPackage(entries: content.index.files),
      in: folder.directory, progress: { _ in })
    let member = try #require(survey.missing.first)
    let noise = noise(member.length, seed: 5)
    let thrown = code {
      try assembly.take(LentBytes(copyOf: noise), at: member.offset)
      _ = try assembly.finish()
    }
    #expect(thrown == .archiveDamaged)
    #expect(code { try assembly.take(LentBytes(copyOf: noise), at: 3) } == .inconsistent)
  }

  @Test(arguments: ["Contents/film.bin", "Contents/pages/page-7.txt", "Contents/empty"])
  func `a file that does not match its digest in the index is refused`(path: String) throws {
    let content = try BuiltContent.library
    let index = try content.index { files in
      for number in files.indices where files[number].path == path {
        files[number] = IndexedFile(
          path: path, kind: .file, size: files[number].size,
          digest: files.first { $0.digest != nil && $0.path != path }?.digest)
      }
    }
    #expect(code { try content.assemble(in: folder.directory, index: index) } == .indexMismatch)
  }

  @Test(arguments: [
    (IndexedFile(path: "/etc/passwd", kind: .directory), ContentError.Code.entryRefused),
    (IndexedFile(path: "../out", kind: .directory), .entryRefused),
    (IndexedFile(path: "Contents/../../out", kind: .directory), .entryRefused),
    (IndexedFile(path: "Contents/a\\b", kind: .directory), .entryRefused),
    (IndexedFile(path: "Contents/./a", kind: .directory), .entryRefused),
    (IndexedFile(path: "Contents/a\u{7}", kind: .directory), .entryRefused),
    (IndexedFile(path: "Contents/BOOK.txt", kind: .directory), .entryRefused),
    (IndexedFile(path: "Contents/book.txt/x", kind: .directory), .entryRefused),
    (IndexedFile(path: "elsewhere", kind: .directory), .entryRefused),
    (IndexedFile(path: "Contents/l", kind: .link, target: "../../x"), .entryRefused),
    (IndexedFile(path: "Contents/l", kind: .link, target: "/etc/passwd"), .entryRefused),
    (IndexedFile(path: "Contents/l", kind: .link), .entryRefused),
    (IndexedFile(path: "Contents/f", kind: .file), .archiveDamaged),
    (
      IndexedFile(path: "Contents/" + String(repeating: "d/", count: 40) + "e", kind: .directory),
      .limitExceeded
    ),
  ])
  func `an index with invalid entries is refused before anything is written`(
    entry: IndexedFile, expected: ContentError.Code
  ) throws {
    let content = try BuiltContent(["Contents/book.txt": [1, 2, 3]])
    let payload = try #require(content.index.payload)
    let index = PackageIndex(
      packageLength: content.index.packageLength,
      payload: PayloadIndex(
        offset: payload.offset, members: payload.members, dataOffsets: payload.dataOffsets + [0]),
      files: content.index.files + [entry])
    #expect(code { try content.assemble(in: folder.directory, index: index) } == expected)
    #expect(try folder.directory.entries().isEmpty)
  }

  @Test func `code whose first bytes are in two members is refused`() throws {
    let info = RawEntry.info().data
    let parts = [info, Array("#".utf8), Array("!/bin/sh".utf8)]
    let packed = parts.map { gzipped($0) }
    let members = try zip(parts, packed).map { part, packed in
      try IndexedMember(
        packedLength: packed.count, plainLength: part.count, digest: Digest(of: packed),
        plainDigest: Digest(of: part))
    }
    let files = [
      IndexedFile(
        path: "ContentInfo.plist", kind: .file, size: Int64(info.count),
        digest: try Digest(of: info)),
      IndexedFile(path: "Contents", kind: .directory),
      IndexedFile(
        path: "Contents/a", kind: .file, size: 9, digest: try Digest(of: parts[1] + parts[2])),
    ]
    let index = PackageIndex(
      packageLength: 10_000,
      payload: PayloadIndex(
        offset: 0, members: members, dataOffsets: [0, 0, Int64(info.count)]), files: files)
    let survey = try PackageSurvey(of: index, name: "out.pkg", staging: nil, reusing: [])
    let thrown = code {
      let assembly = try PackageAssembly(
        survey, name: "out.pkg", expected: expectedPackage(entries: files), in: folder.directory,
        progress: { _ in })
      for member in survey.missing {
        try assembly.take(LentBytes(copyOf: packed[member.member]), at: member.offset)
      }
      _ = try assembly.finish()
    }
    #expect(thrown == .executableContent)
  }

  @Test func `content of another product or version is refused at the end`() throws {
    let content = try BuiltContent(["Contents/a": [1]])
    for (product, version, expected) in [
      ("com.example.other", "1.0", ContentError.Code.wrongProduct),
      ("com.example.test", "2.0", .wrongVersion),
    ] {
      let target = try TemporaryFolder()
      let assembly = try PackageAssembly(
        content.survey(nil), name: "out.pkg",
        expected: expectedPackage(product, version, entries: content.index.files),
        in: target.directory, progress: { _ in })
      let thrown = code {
        for member in try content.survey(nil).missing {
          let start = Int(member.offset)
          let bytes = LentBytes(copyOf: content.bytes[start..<(start + member.length)])
          try assembly.take(bytes, at: member.offset)
        }
        _ = try assembly.finish()
      }
      #expect(thrown == expected)
    }
  }

  // MARK: Helpers

  private func read(_ path: String) throws -> [UInt8] {
    let parts = path.pathComponents()
    return try folder.directory.directory(at: parts.dropLast())
      .contents(of: parts.last ?? "", limit: 64 << 20)
  }

  private func status(_ path: String) throws -> FileStatus? {
    let parts = path.pathComponents()
    return try folder.directory.directory(at: parts.dropLast()).status(of: parts.last ?? "")
  }
}

import HostedConcurrency
import HostedModel
import HostedPackage
import HostedFileIO
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Reusing installed files")
struct ReuseTests {
  private let old: TemporaryFolder
  private let new: TemporaryFolder

  init() throws {
    old = try TemporaryFolder()
    new = try TemporaryFolder()
  }

  /// Installs the library's files, and returns them as a tree.
  private func installed(isTrusted: Bool = true) throws -> ReusableTree {
    let (files, _) = try BuiltContent.library.assemble(in: old.directory)
    return ReusableTree(root: old.directory, files: files, isTrusted: isTrusted)
  }

  private func update(_ change: (inout [String: [UInt8]]) -> Void, from tree: ReusableTree) throws
    -> (moved: Int64, full: Int64, files: [InstalledFile])
  {
    var files = library()
    change(&files)
    let content = try BuiltContent(files)
    let (made, moved) = try content.assemble(in: new.directory, reusing: [tree])
    for (path, bytes) in files { #expect(try read(path, new) == bytes, "\(path)") }
    #expect(made.map(\.entry) == content.index.files)
    return (moved, content.index.packageLength, made)
  }

  @Test func `unchanged files are hard-linked, not copied`() throws {
    let tree = try installed()
    let (moved, _, files) = try update({ _ in }, from: tree)
    #expect(moved == 0)
    for path in ["Contents/film.bin", "Contents/pages/page-1.txt"] {
      let inode = try status(path, new)?.identity.inode
      #expect(try inode == status(path, old)?.identity.inode)
      #expect(try status(path, new)?.identity == files.first { $0.entry.path == path }?.identity)
    }
  }

  @Test func `a moved or duplicated file is found by its bytes`() throws {
    let (moved, _, files) = try update(
      { files in
        files["Contents/other/film.bin"] = files.removeValue(forKey: "Contents/film.bin")
        files["Contents/twin.txt"] = files["Contents/pages/page-5.txt"]
      }, from: installed())
    #expect(moved == 0)
    for file in files where file.entry.kind == .file {
      #expect(try status(file.entry.path, new)?.identity == file.identity, "\(file.entry.path)")
    }
  }

  @Test func `a staged link has its identity after another link to the same file`() throws {
    let tree = try installed()
    var files = library()
    files["Contents/twin.bin"] = files["Contents/film.bin"]
    let content = try BuiltContent(files)
    // As if the first attempt had been interrupted between the two links.
    try content.assemble(in: new.directory, reusing: [tree])
    try new.directory.directory("Contents").removeFile("twin.bin")
    let (made, moved) = try content.assemble(in: new.directory, reusing: [tree])
    #expect(moved == 0)
    for file in made where file.entry.kind == .file {
      #expect(try status(file.entry.path, new)?.identity == file.identity, "\(file.entry.path)")
    }
  }

  @Test(.slow) func `hundreds of files are linked while others arrive`() throws {
    var before = library()
    for number in 0..<500 { before["Contents/notes/\(number % 7)/\(number)"] = noise(50, seed: 7) }
    let (files, _) = try BuiltContent(before).assemble(in: old.directory)
    var after = library(5)
    for number in 0..<600 { after["Contents/notes/\(number % 9)/\(number)"] = noise(50, seed: 7) }
    let content = try BuiltContent(after)
    let tree = ReusableTree(root: old.directory, files: files)
    let (made, moved) = try content.assemble(in: new.directory, reusing: [tree])
    #expect(moved > 1_500_000 && moved < content.index.packageLength)
    for (path, bytes) in after { #expect(try read(path, new) == bytes, "\(path)") }
    for file in made where file.entry.kind == .file {
      #expect(try status(file.entry.path, new)?.identity == file.identity, "\(file.entry.path)")
    }
  }

  @Test(.slow, arguments: [true, false])
  func `an installed file that changes after the survey is not reused`(fetches: Bool) throws {
    var before = library()
    for number in 0..<200 { before["Contents/notes/\(number)"] = noise(50, seed: UInt64(number)) }
    let (files, _) = try BuiltContent(before).assemble(in: old.directory)
    let notes = try old.directory.directory(at: ["Contents", "notes"])
    // Not sealed, so it is copied.
    try notes.file("150").setPermissions(0o644)
    if fetches { before["Contents/film.bin"] = noise(1_500_000, seed: 9) }
    let content = try BuiltContent(before)
    let tree = ReusableTree(root: old.directory, files: files)
    let survey = try content.survey(nil, reusing: [tree])
    try notes.removeFile("150")
    try notes.createFile("150", mode: 0o644).write(noise(50, seed: 999))
    #expect(code { try content.finish(survey, in: new.directory) } == .indexMismatch)
  }

  @Test func `an insertion in a large file only costs the pieces around it`() throws {
    let (moved, full, _) = try update(
      { files in
        var film = files["Contents/film.bin"] ?? []
        film.insert(contentsOf: noise(1024, seed: 9), at: 600_001)
        files["Contents/film.bin"] = film
      }, from: installed())
    #expect(moved > 1024)
    #expect(moved < 800_000 && moved < full / 2, "\(moved) of \(full)")
  }

  @Test func `an interrupted update resumes from staging and the installed version`()
    throws
  {
    let tree = try installed()
    var files = library()
    for place in [200_000, 700_000, 1_200_000] { files["Contents/film.bin"]?[place] ^= 0x55 }
    let content = try BuiltContent(files)
    let missing = try content.survey(nil, reusing: [tree]).missing
    #expect(missing.count >= 3)
    try content.assemble(in: new.directory, reusing: [tree], limit: 1)
    let rest = try content.survey(new.directory, reusing: [tree]).missing
    #expect(rest == Array(missing.dropFirst()))
    try content.assemble(in: new.directory, reusing: [tree])
    #expect(try read("Contents/film.bin", new) == files["Contents/film.bin"])
  }

  @Test func `a changed text costs its group`() throws {
    let (moved, _, _) = try update(
      { $0["Contents/pages/page-20.txt"] = Array("Another log.".utf8) }, from: installed())
    #expect((1...(64 << 10)).contains(moved))
  }

  @Test func `an update of all files transfers as much as a new download`() throws {
    let tree = try installed()
    var files = library(77)
    for path in files.keys { files[path]?.append(contentsOf: noise(16, seed: 3)) }
    let content = try BuiltContent(files)
    let full = try content.survey(nil).missingBytes
    #expect(try content.survey(nil, reusing: [tree]).missingBytes <= full)
    #expect(full <= content.index.packageLength)
  }

  @Test func `a modified installed file is not reused`() throws {
    for isTrusted in [true, false] {
      let folder = try TemporaryFolder()
      let (files, _) = try BuiltContent.library.assemble(in: folder.directory)
      let pages = try folder.directory.directory(at: ["Contents", "pages"])
      let good = try pages.contents(of: "page-3.txt", limit: 1 << 20)
      try pages.removeFile("page-3.txt")
      try pages.createFile("page-3.txt", mode: 0o444).write(good.reversed())
      try pages.removeFile("page-4.txt")
      let tree = ReusableTree(root: folder.directory, files: files, isTrusted: isTrusted)
      let content = try BuiltContent.library
      #expect(try (1...2).contains(content.survey(nil, reusing: [tree]).missing.count))
      let target = try TemporaryFolder()
      try content.assemble(in: target.directory, reusing: [tree])
      #expect(try read("Contents/pages/page-3.txt", target) == good)
    }
  }

  @Test func `a file that was rewritten with the same bytes is hashed and reused`() throws {
    let tree = try installed()
    let contents = try old.directory.directory("Contents")
    let film = try contents.contents(of: "film.bin", limit: 4 << 20)
    try contents.removeFile("film.bin")
    // Writable, so it must not be hard-linked. A copy has its own inode.
    try contents.createFile("film.bin", mode: 0o644).write(film)
    let (moved, _, _) = try update({ _ in }, from: tree)
    #expect(moved == 0)
    let inode = try status("Contents/film.bin", new)?.identity.inode
    #expect(try inode != status("Contents/film.bin", old)?.identity.inode)
    #expect(try status("Contents/film.bin", new)?.permissions == 0o444)
  }

  @Test func `the progress of copied files ends at the bytes to write`() throws {
    let tree = try installed()
    // Not sealed, so it is copied.
    try old.directory.directory("Contents").file("film.bin").setPermissions(0o644)
    let content = try BuiltContent.library
    let survey = try content.survey(nil, reusing: [tree])
    let written = Mutex(Int64(0))
    let assembly = try PackageAssembly(
      survey, name: "out.pkg", expected: expectedPackage(entries: content.index.files),
      in: new.directory, progress: { count in written.withLock { $0 += count } })
    _ = try assembly.finish()
    #expect(survey.bytesToWrite == 1_500_000)
    #expect(written.withLock { $0 } == survey.bytesToWrite)
  }

  @Test(arguments: ["Contents/film.bin", "Contents/pages/page-9.txt"])
  func `a damaged byte costs one member, and the damaged file is not changed`(path: String) throws {
    let tree = try installed(isTrusted: false)
    var bytes = try read(path, old)
    bytes[bytes.count / 2] ^= 1
    let parts = path.pathComponents()
    let folder = try old.directory.directory(at: parts.dropLast())
    try folder.removeFile(parts.last ?? "")
    try folder.createFile(parts.last ?? "", mode: 0o444).write(bytes)
    let content = try BuiltContent.library
    #expect(try content.survey(nil, reusing: [tree]).missing.count == 1)
    try content.assemble(in: new.directory, reusing: [tree])
    #expect(try read(path, new) == library()[path])
    #expect(try read(path, old) == bytes)
  }

  @Test(arguments: ["Contents/film.bin", "Contents/pages/page-9.txt"])
  func `an installed file that cannot be read is fetched`(path: String) throws {
    let files = try installed().files
    let failing = FileSystem(willPerform: { step, place in
      if step == .read, place.hasSuffix(path) { throw SystemFailure(EIO) }
    })
    let tree = ReusableTree(root: try old.opened(failing), files: files, isTrusted: false)
    let content = try BuiltContent.library
    #expect(try !content.survey(nil, reusing: [tree]).missing.isEmpty)
    try content.assemble(in: new.directory, reusing: [tree])
    #expect(try read(path, new) == library()[path])
  }

  @Test func `a trusted installed file that is not sealed and cannot be opened is fetched`() throws
  {
    let path = "Contents/film.bin"
    _ = try installed()
    try old.directory.directory("Contents").file("film.bin").setPermissions(0o600)
    // Trusted, since the change of the permissions is recorded.
    let files = try BuiltContent.library.index.files.map {
      InstalledFile(entry: $0, identity: try status($0.path, old)?.identity)
    }
    let failing = FileSystem(willPerform: { step, place in
      if step == .open, place.hasSuffix(path) { throw SystemFailure(EACCES) }
    })
    let tree = ReusableTree(root: try old.opened(failing), files: files)
    let content = try BuiltContent.library
    #expect(try !content.survey(nil, reusing: [tree]).missing.isEmpty)
    try content.assemble(in: new.directory, reusing: [tree])
    #expect(try read(path, new) == library()[path])
  }

  private func read(_ path: String, _ folder: TemporaryFolder) throws -> [UInt8] {
    let parts = path.pathComponents()
    return try folder.directory.directory(at: parts.dropLast())
      .contents(of: parts.last ?? "", limit: 64 << 20)
  }

  private func status(_ path: String, _ folder: TemporaryFolder) throws -> FileStatus? {
    let parts = path.pathComponents()
    return try folder.directory.directory(at: parts.dropLast()).status(of: parts.last ?? "")
  }
}

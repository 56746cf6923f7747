import HostedModel
import HostedFileIO
import Foundation
import HostedConcurrency
import HostedTestSupport
import Testing

@Suite("Files relative to a folder's descriptor")
struct DirectoryTests {
  @Test(
    "A name with more than one component is rejected before the system call",
    arguments: ["", ".", "..", "a/b", "/etc", "a\u{0}b"])
  func names(name: String) throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    #expect(code { _ = try folder.createFile(name) } == .inconsistent)
    #expect(code { try folder.removeTree(name) } == .inconsistent)
    #expect(code { _ = try folder.directory(name) } == .inconsistent)
    try folder.createFile("a").write([1])
    for (from, to) in [("a", name), (name, "b")] {
      #expect(code { try folder.rename(from, to: folder, to) } == .inconsistent)
      #expect(code { try folder.renameWithoutReplacing(from, to: folder, to) } == .inconsistent)
      #expect(code { try folder.hardLink(from, to: folder, to) } == .inconsistent)
    }
  }

  @Test("Links to files and folders are not followed")
  func links() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    try folder.createDirectory("real").replaceFile("file", with: [1])
    try folder.createLink("link", to: "real")
    try folder.createLink("fileLink", to: "real/file")
    #expect(throws: ContentError.self) { try folder.directory("link") }
    #expect(throws: ContentError.self) { try folder.file("fileLink").status() }
    #expect(throws: ContentError.self) { try folder.createFile("fileLink").status() }
    #expect(try folder.link("link") == "real")
    #expect(try folder.link("real") == nil)
    #expect(try folder.link("nothing") == nil)
  }

  @Test("Removing a tree removes links, but not their targets")
  func removeTree() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    try folder.createDirectory("kept").replaceFile("file", with: [1])
    let doomed = try folder.createDirectory("doomed").createDirectory("deep")
    try doomed.createLink("out", to: "../../kept")
    try doomed.replaceFile("file", with: [2])
    try folder.removeTree("doomed")
    #expect(try folder.status(of: "doomed") == nil)
    #expect(try folder.directory("kept").contents(of: "file", limit: 10) == [1])
    try folder.removeTree("doomed")
  }

  @Test("A folder with entries, a file and a link are not removed as an empty folder")
  func removeEmptyDirectory() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    try folder.createDirectory("full").replaceFile("file", with: [1])
    try folder.createDirectory("empty")
    try folder.replaceFile("file", with: [2])
    try folder.createLink("link", to: "empty")
    for name in ["full", "file", "link", "none"] {
      #expect(try !folder.removeEmptyDirectory(name))
    }
    #expect(try folder.entries().count == 4)
    #expect(try folder.removeEmptyDirectory("empty"))
    #expect(try folder.status(of: "empty") == nil)
    #expect(code { try folder.removeEmptyDirectory("..") } == .inconsistent)
  }

  @Test("The modification time of a file can be set")
  func setModified() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    try folder.replaceFile("file", with: [1])
    try folder.file("file").setModified(1_900_000_000.5)
    #expect(try folder.status(of: "file")?.modified == 1_900_000_000.5)
  }

  @Test("A temporary folder is removed with its content, and no other files are")
  func temporaryDirectory() throws {
    let temporary = try TemporaryFolder()
    let parent = try temporary.opened()
    try parent.createDirectory("kept").replaceFile("file", with: [1])
    let path = try FileSystem.real.withTemporaryDirectory { folder in
      try folder.createDirectory("deep").createLink("out", to: temporary.path("kept"))
      return folder.path
    }
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try parent.directory("kept").contents(of: "file", limit: 10) == [1])
  }

  @Test("Opening a private file removes others' permissions and does not follow links")
  func privateFile() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    #expect(try folder.privateFile("new").status().permissions == 0o600)
    for mode: UInt32 in [0o666, 0o644, 0o660] {
      try folder.replaceFile("old", with: [1])
      try folder.file("old").setPermissions(mode)
      #expect(try folder.privateFile("old").status().permissions == 0o600)
      try folder.file("old").setPermissions(mode)
      try folder.makePrivate("old")
      #expect(try folder.status(of: "old")?.permissions == 0o600)
    }
    try folder.makePrivate("nothing")
    try folder.file("old").setPermissions(0o644)
    try folder.createLink("link", to: "old")
    #expect(code { _ = try folder.privateFile("link") } == .fileFailed)
    #expect(code { try folder.makePrivate("link") } == .fileFailed)
    #expect(try folder.status(of: "old")?.permissions == 0o644)
  }

  @Test("A file that others will map is created empty for its owner, and an existing one stays")
  func mappedFile() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    try folder.createMappedFile("new")
    #expect(try folder.status(of: "new")?.size == 0)
    #expect(try folder.status(of: "new")?.permissions == 0o600)
    try folder.replaceFile("old", with: [1])
    try folder.createMappedFile("old")
    #expect(try folder.contents(of: "old", limit: 10) == [1])
    // SQLite creates it otherwise, or says why it cannot.
    try folder.createMappedFile("missing/name")
  }

  @Test("An exclusively created folder that cannot be opened is removed")
  func exclusive() throws {
    let temporary = try TemporaryFolder()
    let plan = FaultPlan(failing: 3, as: EMFILE)
    let folder = try temporary.opened(plan.fileSystem)
    #expect(code { try folder.createDirectory("new", exclusive: true) } == .tooManyFiles)
    #expect(try folder.entries().isEmpty)
    try folder.createDirectory("new").replaceFile("file", with: [1])
    #expect(code { try folder.createDirectory("new", exclusive: true) } == .fileFailed)
    #expect(try folder.directory("new").entries().count == 1)
  }

  @Test("Replacing a file leaves the old or the new file if any operation fails")
  func replace() throws {
    for n in 1... {
      let temporary = try TemporaryFolder()
      try temporary.opened().replaceFile("file", with: [1, 1])
      let plan = FaultPlan(failing: n)
      let faulty = try? temporary.opened(plan.fileSystem)
      try? faulty?.replaceFile("file", with: [2, 2, 2])
      let contents = try temporary.opened().contents(of: "file", limit: 10)
      #expect(contents == [1, 1] || contents == [2, 2, 2])
      try temporary.opened().replaceFile("file", with: [3])
      #expect(try temporary.opened().contents(of: "file", limit: 10) == [3])
      if !plan.hasFired { break }
    }
  }

  @Test(
    "Renaming without replacing rejects an existing name, even without system support",
    arguments: [true, false])
  func renames(hasFlag: Bool) throws {
    let temporary = try TemporaryFolder()
    let refusals = Mutex<Set<String>>([])
    let folder = try temporary.opened(
      FileSystem { operation, path in
        guard operation == .rename, !hasFlag else { return }
        // The first call uses the flag, the second one is rename(2).
        guard refusals.withLock({ $0.remove(path) }) == nil else { return }
        refusals.withLock { _ = $0.insert(path) }
        throw SystemFailure(EINVAL)
      })
    // rename(2) replaces files.
    refusals.withLock { $0 = [folder.path(of: "a"), folder.path(of: "b")] }
    try folder.replaceFile("a", with: [1])
    try folder.replaceFile("b", with: [2])
    #expect(throws: ContentError.self) {
      try folder.renameWithoutReplacing("a", to: folder, "b")
    }
    try folder.renameWithoutReplacing("a", to: folder, "c")
    #expect(try folder.contents(of: "c", limit: 1) == [1])
    refusals.withLock { $0 = [folder.path(of: "b")] }
    try folder.rename("c", to: folder, "b")
    #expect(try folder.status(of: "c") == nil)
    #expect(try folder.contents(of: "b", limit: 1) == [1])
    #expect(Set(try folder.entries().map(\.name)) == ["b"])
  }

  @Test("A name that is not UTF-8 is listed with its bytes, and removed with its folder")
  func namesOfBytes() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened().createDirectory("folder")
    try #require(folder.make(OddName.noText, isFolder: true))
    try #require(folder.make(OddName.decomposed))
    let entries = try folder.entries()
    #expect(Set(entries.map(\.bytes)) == [OddName.noText, OddName.decomposed])
    #expect(entries.allSatisfy { $0.isText == ($0.kind == .file) })
    let inner = try #require(entries.first { !$0.isText })
    #expect(try folder.status(of: inner.name) == nil, "the readable form is not a path")
    try folder.removeTree(inner)
    #expect(try folder.entries().map(\.bytes) == [OddName.decomposed])
    try #require(folder.make(OddName.noText))
    try temporary.opened().removeTree("folder")
    #expect(try temporary.opened().entries().isEmpty)
  }

  @Test("A file longer than the limit is not read")
  func limit() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    try folder.replaceFile("file", with: Array(repeating: 7, count: 100))
    #expect(try folder.contents(of: "file", limit: 100).count == 100)
    #expect(code { _ = try folder.contents(of: "file", limit: 99) } == .limitExceeded)
  }

  @Test("A FIFO in place of a file is not read and does not block")
  func fifo() throws {
    let temporary = try TemporaryFolder()
    #expect(mkfifo(temporary.path("pipe"), 0o600) == 0)
    let folder = try temporary.opened()
    #expect(code { _ = try folder.contents(of: "pipe", limit: 10) } == .fileFailed)
    #expect(try folder.status(of: "pipe")?.kind == .other)
  }

  @Test("A lock excludes others while its file is open")
  func lock() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    func takeAndRelease() throws {
      let held = try folder.updatedFile("lock")
      #expect(try held.tryLock())
      let other = try folder.updatedFile("lock")
      #expect(try !other.tryLock())
    }
    try takeAndRelease()
    let later = try folder.updatedFile("lock")
    #expect(try later.tryLock())
  }

  @Test("System errors map to codes by what a user can do")
  func errors() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    #expect(code { _ = try folder.file("nothing").status() } == .fileMissing)
    #expect(code { _ = try FileSystem.real.directory(at: "/proc/x", creating: true) } != nil)
    #expect(ContentError(errno: ENOSPC, .write, "x").code == .diskFull)
    #expect(ContentError(errno: EDQUOT, .write, "x").code == .diskFull)
    #expect(ContentError(errno: EROFS, .write, "x").code == .notPermitted)
    #expect(ContentError(errno: EMFILE, .open, "x").code == .tooManyFiles)
    #expect(ContentError(errno: ENOMEM, .open, "x").code == .outOfMemory)
    #expect(ContentError(errno: EIO, .read, "x").cause == "Input/output error")
  }

  @Test("Any number of buffers is written in order")
  func buffers() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    let bytes = (0..<9000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let file = try folder.createFile("file")
    try file.write([9, 9, 9])
    try bytes.withUnsafeBytes { all in
      // More than the system takes at once, including empty ones.
      let empty = UnsafeRawBufferPointer(rebasing: all[..<0])
      let buffers =
        Array(repeating: empty, count: 2000)
        + stride(from: 0, to: 9000, by: 3).flatMap {
          [UnsafeRawBufferPointer(rebasing: all[$0..<($0 + 3)]), empty]
        }
      try file.write(buffers, at: 3)
      try file.write([], at: 3)
    }
    #expect(try folder.contents(of: "file", limit: 1 << 20) == [9, 9, 9] + bytes)
  }

  @Test("Writing to a full device throws diskFull")
  func fullDevice() throws {
    let devices = try FileSystem.real.directory(at: "/dev")
    #expect(code { try devices.updatedFile("full").write([1]) } == .diskFull)
    let bytes: [UInt8] = [1, 2]
    bytes.withUnsafeBytes { bytes in
      #expect(code { try devices.updatedFile("full").write([bytes], at: 5) } == .diskFull)
    }
  }
}

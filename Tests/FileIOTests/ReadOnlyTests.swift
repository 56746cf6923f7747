import HostedModel
import HostedFileIO
import Glibc
import HostedTestSupport
import Testing

@Suite("A read-only file system")
struct ReadOnlyTests {
  private let temporary: TemporaryFolder
  private let folder: Directory

  init() throws {
    temporary = try TemporaryFolder()
    try temporary.directory.replaceFile("file", with: [1])
    folder = try temporary.opened(FileSystem.real.readOnly())
  }

  @Test("It reads, lists and locks, but changes nothing")
  func changes() throws {
    #expect(folder.fileSystem.isReadOnly && !FileSystem.real.isReadOnly)
    #expect(try folder.contents(of: "file", limit: 1) == [1])
    #expect(try folder.entries().map(\.name) == ["file"])
    #expect(try folder.tryLock(alone: true))
    let before = try temporary.directory.status(of: "file")
    let changes: [(Directory) throws -> Void] = [
      { try $0.replaceFile("new", with: []) }, { _ = try $0.updatedFile("file") },
      { try $0.createDirectory("new") }, { try $0.removeFile("file") },
      { try $0.rename("file", to: $0, "new") }, { try $0.createLink("new", to: "file") },
      { try $0.setPermissions(0o700) }, { try $0.makePrivate("file") }, { try $0.sync() },
    ]
    for change in changes { #expect(code { try change(folder) } == .inconsistent) }
    #expect(try temporary.directory.entries().map(\.name) == ["file"])
    #expect(try temporary.directory.status(of: "file")?.identity == before?.identity)
  }

  @Test("Steps that another hook fails have its error")
  func hooks() throws {
    let failing = FileSystem { _, _ in throw SystemFailure(EIO) }
    #expect(code { _ = try temporary.opened(failing.readOnly()) } == .fileFailed)
  }

  @Test("What may be written has no error, and a missing file has that of opening it")
  func mayWrite() throws {
    try folder.checkMayChange("new")
    try folder.checkMayWrite("file")
    #expect(code { try folder.checkMayWrite("nothing") } == .fileMissing)
  }

  @Test(
    "Missing permission to write has the error of writing, without a write",
    .enabled(if: geteuid() != 0, "root may write anywhere"))
  func permissions() throws {
    try temporary.directory.setPermissions(0o500)
    defer { try? temporary.directory.setPermissions(0o700) }
    #expect(code { try folder.checkMayChange("new") } == .notPermitted)
  }
}

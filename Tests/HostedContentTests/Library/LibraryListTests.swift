@testable import HostedJournal
import HostedLibrary
import HostedModel
import HostedDatabase
import HostedFileIO
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The list of installed versions, whose files are checked in portions.
@Suite("The list of a library", .timeLimit(.hang))
struct LibraryListTests {
  private let temporary: TemporaryFolder
  private let folder: LibraryFolder
  private let journal: SQLiteJournal

  init() throws {
    temporary = try TemporaryFolder()
    folder = try LibraryFolder(creating: temporary.path)
    journal = try SQLiteJournal(in: folder.root)
  }

  /// Installs versions of `content`, of which the last one is current.
  private func install(
    _ content: ProductIdentifier, _ versions: [String], files names: [String] = ["text"],
    entryCount: Int = 2
  ) throws {
    let home = try folder.products.createDirectory(content.rawValue)
    let files =
      [InstalledFile(entry: IndexedFile(path: "Contents", kind: .directory), identity: nil)]
      + names.map { name in
        InstalledFile(
          entry: IndexedFile(
            path: "Contents/\(name)", kind: .file, size: 4,
            digest: Digest(bytes: [UInt8](repeating: 1, count: 32))), identity: nil)
      }
    for name in versions {
      let version = try ContentVersion(validating: name)
      let tree = try home.createDirectory(name)
      let contents = try tree.createDirectory("Contents")
      for name in names { try contents.replaceFile(name, with: Array("text".utf8)) }
      try journal.announce(
        InstalledContent(
          contentIdentifier: content, productIdentifier: content, version: version, size: 4,
          entryCount: entryCount, date: Date(timeIntervalSince1970: 1)), files: files, signers: nil)
      try journal.confirm(content, version)
    }
    try home.removeFile("current")
    try home.createLink("current", to: versions[versions.count - 1])
  }

  private func list(checksFiles: Bool = true) throws -> [String] {
    try ContentLibrary(folder, journal: journal).list(checksFiles: checksFiles).map {
      let state = $0.lacksFiles.map { $0 ? " lacks files" : " complete" } ?? ""
      return "\($0.content.contentIdentifier) \($0.content.version)"
        + "\($0.isCurrent ? " current" : "")\(state)"
    }
  }

  @Test func `versions are listed in order, also if a content has more than fit into a portion`()
    throws
  {
    try install("b", (1...70).map { "\($0).0" })
    try install("a", ["1.0"])
    try install("c", ["1.0", "2.0"])
    let versions = (1...69).map { "b \($0).0 complete" }
    #expect(
      try list() == ["a 1.0 current complete"] + versions
        + ["b 70.0 current complete", "c 1.0 complete", "c 2.0 current complete"])
    #expect(try list(checksFiles: false).count == 73)
    #expect(try list(checksFiles: false).first == "a 1.0 current")
  }

  @Test func `contents with very many files are read one by one`() throws {
    for content: ProductIdentifier in ["a", "b", "c"] {
      try install(content, ["1.0"], entryCount: 1_000_000)
    }
    try folder.products.removeTree("b")
    #expect(
      try list() == ["a 1.0 current complete", "b 1.0 lacks files", "c 1.0 current complete"])
  }

  @Test func `a missing or shorter file, and no version beside it, is reported`() throws {
    try install("a", ["1.0", "2.0", "3.0"])
    let home = try folder.products.directory("a")
    try home.directory("1.0").directory("Contents").removeFile("text")
    try home.directory("3.0").directory("Contents").replaceFile("text", with: [1])
    #expect(try list() == ["a 1.0 lacks files", "a 2.0 complete", "a 3.0 current lacks files"])
  }

  @Test func `each spelling of a version is compared with its own files`() throws {
    try install("a", ["1.0"], files: ["text", "notes"])
    try install("a", ["1.0.0"])
    try folder.products.directory("a").directory("1.0").directory("Contents").removeFile("notes")
    #expect(try Set(list()) == ["a 1.0 lacks files", "a 1.0.0 current complete"])
  }

  @Test func `a version with an unreadable record is listed, because a repair records it again`()
    throws
  {
    try install("a", ["1.0", "2.0"])
    try journal.write {
      try $0.execute(
        "UPDATE content_files SET files = x'01ff' "
          + "WHERE content_id = (SELECT min(id) FROM content)")
    }
    #expect(try list() == ["a 1.0 complete", "a 2.0 current complete"])
  }

  @Test func `a content whose folder is a link is listed without a current version`() throws {
    try install("a", ["1.0"])
    try install("b", ["1.0"])
    try folder.products.rename("b", to: folder.staging, "moved")
    try folder.products.createLink("b", to: "../staging/moved")
    #expect(try list() == ["a 1.0 current complete", "b 1.0 lacks files"])
  }
}

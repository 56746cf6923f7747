import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import HostedSimulation
import Testing

/// Bugs that simulated schedules have found, as small test cases.
@Suite("After a failed sync, staging is not trusted")
struct LostPagesTests {
  /// Fails the first sync of the disk, and loses the pages that it should have written.
  private final class Failing: DiskDirector {
    private var hasFailed = false

    func willCall(_ call: DiskCall, _ path: String) -> DiskFault? {
      guard call == .syncfs, !hasFailed else { return nil }
      hasFailed = true
      return .fails(EIO)
    }

    func losesPages() -> Bool { true }
  }

  @Test("Staging that could not be synced is empty when its download continues")
  func emptied() throws {
    let disk = SimulatedDisk()
    let failing = Failing()
    disk.director = failing
    let folder = try LibraryFolder(creating: "/library", fileSystem: disk.fileSystem)
    let library = ContentLibrary(folder, journal: NoJournal())
    let (one, other) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
    for id in [one, other] {
      try library.staging(for: id).createDirectory("content").createFile("a").write([1])
    }
    let content = InstalledContent(
      contentIdentifier: ProductIdentifier("a"), productIdentifier: ProductIdentifier("a"),
      version: ContentVersion("1"), size: 1, entryCount: 1, date: Date(timeIntervalSince1970: 0)
    )
    #expect(throws: ContentError.self) {
      try library.install("content", ofDownload: one, as: content, files: [])
    }
    // The same sync should have written the pages of the other download.
    for id in [one, other] { #expect(try library.staging(for: id).entries().isEmpty, "\(id)") }
    try library.staging(for: one).createDirectory("content")
    #expect(try library.staging(for: one).entries().count == 1, "it is only emptied once")
  }

  @Test("The next process removes staging that could not be synced, once")
  func nextProcess() throws {
    let disk = SimulatedDisk()
    let failing = Failing()
    disk.director = failing
    let folder = try LibraryFolder(creating: "/library", fileSystem: disk.fileSystem)
    let id = UUID().uuidString.lowercased()
    func stage() throws {
      let staging = try ContentLibrary(folder, journal: NoJournal()).staging(for: id)
      try staging.createDirectory("content").createFile("a").write([1])
    }
    func recover() throws -> Bool {
      #expect(try ContentLibrary(folder, journal: NoJournal()).recover(keeping: [id]).isEmpty)
      return try folder.staging.status(of: id) == nil
    }
    try stage()
    #expect(try !recover())
    #expect(throws: ContentError.self) { try folder.sync() }
    #expect(try recover())
    try stage()
    try folder.sync()
    #expect(try !recover())
  }
}

/// A journal whose calls have no effect.
private struct NoJournal: InstallJournal {
  func announce(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) {}
  func replace(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) {}
  func confirm(_ content: ProductIdentifier, _ version: ContentVersion) {}
  func forget(_ content: ProductIdentifier, _ version: ContentVersion) {}
  func announced() -> [InstalledContent] { [] }
  func installed() -> [InstalledContent] { [] }
  func installed(_ content: ProductIdentifier) -> [InstalledContent] { [] }
  func signers(of content: ProductIdentifier, _ version: ContentVersion) -> Digest? { nil }
  func pins() -> Set<ContentKey> { [] }
  func setPin(_ pinned: Bool, on key: ContentKey) {}
  func files(of content: ProductIdentifier, _ version: ContentVersion) -> [InstalledFile] { [] }
}

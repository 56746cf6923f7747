import HostedJournal
import HostedLibrary
import HostedModel
import HostedFileIO
import HostedConcurrency
import HostedTestSupport
import Testing

@Suite("Space for downloads")
struct SpaceTests {
  private let folder: TemporaryFolder
  private let library: ContentLibrary
  private let product = ProductIdentifier("a")

  init() throws {
    folder = try TemporaryFolder()
    let files = try LibraryFolder(creating: folder.path("library"))
    library = ContentLibrary(files, journal: try SQLiteJournal(in: files.root))
  }

  @Test("Reserved space is unavailable to other downloads until it is written or released")
  func reservations() throws {
    // Large enough that writes of other tests do not matter.
    let most = try folder.opened().availableBytes() / 5 * 3
    let first = library.spaceReservation(for: product)
    let written = Atomic(Int64(0))
    try first.reserve(most) { written.load(ordering: .relaxed) }
    let second = library.spaceReservation(for: product)
    let error = #expect(throws: ContentError.self) { try second.reserve(most) { 0 } }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("\(most) of them for other downloads") == true)
    written.store(most, ordering: .relaxed)
    try second.reserve(most) { 0 }
    written.store(0, ordering: .relaxed)
    second.end()
    first.end()
    let third = library.spaceReservation(for: product)
    try third.reserve(most) { 0 }
    third.end()
  }

  @Test("The journal keeps a reserve, and restores it after use")
  func reserve() throws {
    let files = try folder.opened().directory("library")
    let reserve = SpaceReserve(in: files)
    let size = try files.status(of: "journal.reserve")?.size
    #expect(size == SpaceReserve.size)
    #expect(reserve.release())
    #expect(try files.status(of: "journal.reserve") == nil)
    #expect(!reserve.release())
    _ = try SQLiteJournal(in: files)
    #expect(try files.status(of: "journal.reserve")?.permissions == 0o600)
  }
}

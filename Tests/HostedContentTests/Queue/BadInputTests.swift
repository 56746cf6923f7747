import HostedConcurrency
import HostedJournal
import HostedLibrary
import HostedModel
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Bad input fails with a typed error and affects nothing else.
@Suite("Bad input", .timeLimit(.hang))
struct BadInputTests {
  /// Installs “good” and tries “bad”; returns the error of “bad”.
  private func failure(in fixture: StoreFixture) async throws -> ContentError {
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    let badID = queue.add(Payment(productIdentifier: "bad"))
    queue.add(Payment(productIdentifier: "good"))
    await observer.wait { log in
      log.download(of: "bad")?.state == .failed && log.removed.contains { $0 != badID }
    }
    try fixture.expectInstalled("good", "1.0")
    #expect(try fixture.reader().contents().map(\.content.contentIdentifier) == ["good"])
    let download = try #require(observer.log.download(of: "bad"))
    #expect(download.contentURL == nil)
    #expect(queue.transactions.map(\.id) == [badID])
    queue.close()
    return try #require(download.error)
  }

  private func archive(of product: String, in fixture: StoreFixture, _ suffix: String) throws
    -> String
  {
    let folder = "\(fixture.storePath)/targets/\(product)/1.0"
    let name = try FileManager.default.contentsOfDirectory(atPath: folder).first {
      $0.hasSuffix(suffix)
    }
    return "\(folder)/\(try #require(name))"
  }

  private func fixture() throws -> StoreFixture {
    let fixture = try StoreFixture(publishing: "good", "1.0")
    try fixture.publish("bad", "1.0")
    return fixture
  }

  @Test("An archive that does not match its digests fails its download only, and can start again")
  func damagedArchive() async throws {
    let fixture = try fixture()
    let path = try archive(of: "bad", in: fixture, "content.pkg")
    let whole = try Data(contentsOf: URL(filePath: path))
    var damaged = whole
    damaged[damaged.count / 2] ^= 1
    try damaged.write(to: URL(filePath: path))
    let error = try await failure(in: fixture)
    #expect(error.code == .pieceDamaged)
    #expect(error.subject != nil)

    // After the archive is repaired, a later process continues the same transaction.
    try whole.write(to: URL(filePath: path))
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    await observer.wait { $0.removed.count == 1 }
    try fixture.expectInstalled("bad", "1.0")
  }

  @Test(
    "A truncated archive, a missing one and a damaged index have different errors", .slow,
    arguments: [
      ("content.pkg", "truncate", ContentError.Code.pieceDamaged),
      ("content.pkg", "remove", .storeMissing),
      ("content.index", "truncate", .digestMismatch),
      ("content.index", "damage", .digestMismatch),
      ("content.index", "remove", .storeMissing),
      ("content.index", "extend", .digestMismatch),
    ])
  func damagedTargets(suffix: String, damage: String, code: ContentError.Code) async throws {
    let fixture = try fixture()
    let path = try archive(of: "bad", in: fixture, suffix)
    var bytes = try Data(contentsOf: URL(filePath: path))
    switch damage {
    case "truncate": try bytes.dropLast(1).write(to: URL(filePath: path))
    case "extend": try (bytes + [0]).write(to: URL(filePath: path))
    case "damage":
      bytes[10] ^= 1
      try bytes.write(to: URL(filePath: path))
    default: try FileManager.default.removeItem(atPath: path)
    }
    #expect(try await failure(in: fixture).code == code)
  }

  @Test("A missing store fails the purchase, and the queue works again once it is back")
  func missingStore() async throws {
    let fixture = try fixture()
    try FileManager.default.moveItem(atPath: fixture.storePath, toPath: fixture.folder.path("away"))
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    let payment = Payment(productIdentifier: "good")
    let first = queue.add(payment)
    await observer.wait { $0.removed == [first] }
    #expect(observer.log.transactions[first]?.error?.code == .storeMissing)
    try FileManager.default.moveItem(atPath: fixture.folder.path("away"), toPath: fixture.storePath)
    let second = queue.add(payment)
    await observer.wait { $0.removed.contains(second) }
    try fixture.expectInstalled("good", "1.0")
  }

  @Test(
    "A damaged catalog, a wrong signature, expired metadata and a clock that went back are refused",
    .slow,
    arguments: ["damaged", "signature", "expired", "clock"])
  func untrustedCatalog(what: String) async throws {
    let fixture = try fixture()
    try await fixture.install("good")

    let timestamp = URL(filePath: "\(fixture.storePath)/metadata/timestamp.json")
    let text = try String(contentsOf: timestamp, encoding: .utf8)
    var shift: TimeInterval = 0
    let code: ContentError.Code
    switch what {
    case "damaged":
      try "{".write(to: timestamp, atomically: false, encoding: .utf8)
      code = .metadataDamaged
    case "signature":
      let version = try #require(text.range(of: "\"version\":"))
      let digit = text.index(after: version.upperBound)
      try text.replacingCharacters(in: version.upperBound..<digit, with: "9")
        .write(to: timestamp, atomically: false, encoding: .utf8)
      code = .signatureInvalid
    case "expired":
      shift = 20 * 365 * 86_400
      code = .metadataExpired
    default:
      shift = -7200
      code = .clockWentBackwards
    }
    let later = try fixture.queue { configuration in
      configuration.clock = EngineClock(
        now: { [shift] in Date(timeIntervalSinceNow: shift) }, uptime: EngineClock.system.uptime)
    }
    let second = RecordingObserver.delivering(of: later)
    let id = later.add(Payment(productIdentifier: "bad"))
    await second.wait { $0.removed == [id] }
    let error = try #require(second.log.transactions[id]?.error)
    #expect(error.code == code, "\(error)")
    #expect(!error.remedy.isEmpty)
    try fixture.expectInstalled("good", "1.0")
  }

  @Test("The error for a locked library names the process that uses it")
  func locked() throws {
    let fixture = try StoreFixture()
    let queue = try fixture.queue()
    let error = #expect(throws: ContentError.self) { try fixture.queue() }
    #expect(error?.code == .libraryLocked)
    #expect(error?.message.contains("process \(getpid())") == true)
    queue.close()
    _ = try fixture.queue()
  }

  @Test("A library of a newer schema is refused and not changed")
  func newerSchema() throws {
    let fixture = try StoreFixture()
    try fixture.queue().close()
    let path = "\(fixture.libraryPath)/journal.sqlite"
    // The schema number is at byte 60 of a database file.
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[63] = 99
    try bytes.write(to: URL(filePath: path))
    let error = #expect(throws: ContentError.self) { try fixture.queue() }
    #expect(error?.code == .libraryNewer)
    #expect(throws: ContentError.self) { try fixture.reader() }
    #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
  }

  @Test("A damaged journal is refused with a remedy, and installed content stays")
  func damagedJournal() async throws {
    let fixture = try fixture()
    try await fixture.install("good")
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/journal.sqlite\(suffix)")
    }
    try Data(repeating: 7, count: 5000).write(
      to: URL(filePath: "\(fixture.libraryPath)/journal.sqlite"))
    let error = #expect(throws: ContentError.self) { try fixture.queue() }
    #expect(error?.code == .journalFailed)
    // Follow the remedy: delete the journal. Installing the product again adopts the existing
    // files.
    try FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/journal.sqlite")
    let again = try fixture.queue()
    let second = RecordingObserver.delivering(of: again)
    again.add(Payment(productIdentifier: "good"))
    await second.wait { $0.removed.count == 1 }
    try fixture.expectInstalled("good", "1.0")
  }

  @Test(
    "A library that cannot be written is refused",
    arguments: ["/proc/library", "/dev/null/library"])
  func unwritable(path: String) throws {
    let fixture = try StoreFixture()
    let error = #expect(throws: ContentError.self) {
      try fixture.queue { $0.library = URL(filePath: path) }
    }
    #expect(error?.message.contains(path.split(separator: "/").first ?? "") == true)
  }

  @Test(
    "A store URL of an unsupported scheme is a usage error",
    arguments: ["gopher://example.com/store", "ftp://x", "", "file://elsewhere/store"])
  func storeAddress(text: String) {
    let error = #expect(throws: ContentError.self) { try StoreLocation(text) }
    #expect(error?.code == .usage)
  }

  @Test("A ledger that is not a file URL is a usage error")
  func ledgerAddress() throws {
    let fixture = try StoreFixture()
    let error = #expect(throws: ContentError.self) {
      try fixture.queue { $0.ledgerFile = URL(string: "https://example.com/ledger.sqlite") }
    }
    #expect(error?.code == .usage)
    // The refused queue does not keep the library.
    try fixture.queue().close()
  }

  @Test("Too little space is detected before anything is written, and the error has the amounts")
  func noSpace() async throws {
    let fixture = try fixture()
    let folder = try LibraryFolder(creating: fixture.libraryPath)
    let library = ContentLibrary(folder, journal: try SQLiteJournal(in: folder.root))
    let error = #expect(throws: ContentError.self) {
      try library.spaceReservation(for: ProductIdentifier("bad")).reserve(1 << 60) { 0 }
    }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("\((1 << 60) + (4 << 20))") == true)
  }

  @Test("A disk that fills up fails the download, which continues once there is space")
  func fullDisk() async throws {
    let fixture = try fixture()
    let isFull = FullDisk()
    let queue = try fixture.queue { $0.fileSystem = isFull.fileSystem }
    let observer = RecordingObserver.delivering(of: queue)
    queue.add(Payment(productIdentifier: "good"))
    await observer.wait { $0.removed.count == 1 }
    isFull.set(true)
    queue.add(Payment(productIdentifier: "bad"))
    await observer.wait { log in
      log.transactionStates.values.contains { $0.last == .failed }
        || log.download(of: "bad")?.state == .failed
    }
    try fixture.expectInstalled("good", "1.0")
    isFull.set(false)
    if let download = observer.log.download(of: "bad"), download.state == .failed {
      #expect(download.error?.code == .diskFull)
      queue.start([download])
    } else {
      queue.add(Payment(productIdentifier: "bad"))
    }
    await observer.wait { $0.download(of: "bad")?.state == .finished }
    try fixture.expectInstalled("bad", "1.0")
  }
}

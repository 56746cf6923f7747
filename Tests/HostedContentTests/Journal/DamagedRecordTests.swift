import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

import HostedDatabase
@testable import HostedJournal

/// An unreadable record of the journal affects only what it describes.
@Suite("Damaged records of the journal", .timeLimit(.hang))
struct DamagedRecordTests {
  private let fixture: StoreFixture
  private let a = ProductIdentifier("a")
  private let b = ProductIdentifier("b")

  init() throws { fixture = try StoreFixture() }

  /// Publishes two products, and installs `a`.
  private func prepare() async throws {
    for name in ["a", "b"] { try fixture.publish(name, "1.0") }
    try await fixture.install(a)
  }

  private func journal() throws -> SQLiteJournal {
    try SQLiteJournal(in: FileSystem.real.directory(at: fixture.libraryPath))
  }

  /// Records an install of `b` that was announced and not confirmed, and damages its record.
  private func announce(damagedBy change: String) throws {
    let journal = try journal()
    let content = InstalledContent(
      contentIdentifier: b, productIdentifier: b, version: ContentVersion("1.0"), size: 1,
      entryCount: 1, date: Date(timeIntervalSince1970: 1))
    try journal.announce(content, files: [], signers: nil)
    try journal.write { try $0.execute(change) }
  }

  static let damages = [
    "UPDATE content_files SET files = x'01ff' "
      + "WHERE content_id IN (SELECT id FROM content WHERE content = 'b')",
    "DELETE FROM content_files "
      + "WHERE content_id IN (SELECT id FROM content WHERE content = 'b')",
    "UPDATE content SET version = 'x/y' WHERE content = 'b'",
    "UPDATE content SET product = '' WHERE content = 'b'",
    "UPDATE content SET content = '../b' WHERE content = 'b'",
  ]

  @Test(.slow, arguments: damages)
  func `an announced install with a damaged record is reported, and the queue opens`(
    damage: String
  ) async throws {
    try await prepare()
    try announce(damagedBy: damage)
    let unreadable = try fixture.reader().unreadableRecords()
    #expect(unreadable.count == (damage.contains("content_files") ? 0 : 1))
    var queue = try fixture.queue()
    var observer = RecordingObserver(of: queue)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.journalFailed])
    let words = observer.log.errors.first.map { "\($0)" } ?? ""
    #expect(words.contains("b"), "\(words)")
    try fixture.expectInstalled("a", "1.0")
    let version = try await queue.installedVersion(of: a)
    #expect(version?.rawValue == "1.0")
    // The content itself can be installed.
    _ = try await queue.deliver(Payment(productIdentifier: b))
    try fixture.expectInstalled("b", "1.0")
    // A repair resolves what a delivery has not replaced.
    for content in try fixture.reader().contents().map(\.content) {
      _ = try await queue.repair(content)
    }
    _ = try await queue.repairJournal()
    queue.close()
    queue = try fixture.queue()
    observer = RecordingObserver(of: queue)
    _ = try await queue.deliver(Payment(productIdentifier: a))
    await observer.wait { !$0.removed.isEmpty }
    #expect(observer.log.errors.isEmpty)
    queue.close()
    try fixture.expectInstalled("a", "1.0")
    try fixture.expectInstalled("b", "1.0")
  }

  @Test(
    .slow,
    arguments: [
      "UPDATE queue_transaction SET state = 77 WHERE sequence = 2",
      "UPDATE queue_transaction SET product = '' WHERE sequence = 2",
      "UPDATE queue_transaction SET error = '{' WHERE sequence = 2",
      "UPDATE queue_transaction SET state = 77 WHERE sequence = 3",
      "UPDATE queue_download SET offer = 99 WHERE sequence = 3",
      "UPDATE queue_offer SET offer = '{'",
      "UPDATE queue_download SET state = 77 WHERE sequence = 3",
    ])
  func `a damaged transaction is set aside and reported, and the others load`(damage: String)
    async throws
  {
    for name in ["a", "b"] { try fixture.publish(name, "1.0") }
    var queue = try fixture.queue()
    var observer = RecordingObserver(of: queue)
    let ids = [
      queue.add(Payment(productIdentifier: a, simulatesAskToBuy: true)),
      queue.add(Payment(productIdentifier: a, simulatesAskToBuy: true)),
      queue.add(Payment(productIdentifier: "b")),
    ]
    await observer.wait { log in
      ids.allSatisfy { ![nil, .purchasing].contains(log.transactionStates[$0]?.last) }
    }
    queue.close()
    try journal().write { try $0.execute(damage) }
    #expect(try fixture.reader().unreadableRecords().count == 1)
    queue = try fixture.queue()
    observer = RecordingObserver(of: queue)
    await observer.wait { !$0.errors.isEmpty && $0.transactions.count >= 2 }
    let damaged = damage.contains("= 2") ? ids[1] : ids[2]
    #expect(Set(observer.log.transactions.keys) == Set(ids).subtracting([damaged]))
    let error = try #require(observer.log.errors.first)
    #expect(error.code == .journalFailed)
    #expect("\(error)".contains(damaged.rawValue), "\(error)")
    // New transactions are journaled beside it.
    _ = try await queue.deliver(Payment(productIdentifier: b))
    #expect(observer.log.errors.count == 1)
    queue.close()
  }

  @Test func `an installed version with a damaged record is reported, and the queue opens`()
    async throws
  {
    try await prepare()
    try await fixture.install(b)
    try journal().write { try $0.execute("UPDATE content SET product = '' WHERE content = 'b'") }
    let queue = try fixture.queue()
    let observer = RecordingObserver(of: queue)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.journalFailed])
    #expect(try await queue.installedVersion(of: b)?.rawValue == "1.0", "its folder stays")
    try fixture.expectInstalled("a", "1.0")
    #expect(try await queue.repairJournal().count == 1)
    // A new download writes its record again.
    _ = try await queue.deliver(Payment(productIdentifier: b))
    queue.close()
    try fixture.expectInstalled("b", "1.0")
  }

  @Test func `a damaged pin does not keep a version from being removed`() async throws {
    try await prepare()
    try journal().write { try $0.execute("INSERT INTO pin VALUES ('../x', '1.0')") }
    let queue = try fixture.queue()
    try await queue.remove(a, version: ContentVersion("1.0"))
    await #expect(throws: ContentError.self, "an unreadable pin may belong to any version") {
      try await queue.collect()
    }
    queue.close()
  }
}

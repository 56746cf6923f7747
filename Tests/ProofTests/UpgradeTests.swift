@testable import ContentJournal
import ContentModel
import ContentStore
import CrashPoints
import FileIO
import Foundation
import HostedContent
import TestSupport
import Testing

/// Libraries and stores as earlier versions of this software have left them.
///
/// `Tests/Fixtures/make` made them with the tools of their time: of three products two are installed;
/// the third one's download has failed, and its transaction is open.
@Suite("What earlier versions have written", .timeLimit(.minutes(10)))
struct UpgradeTests {
  enum Fixture: String, CaseIterable {
    /// A journal of JSON texts, indexes in JSON.
    case schema1 = "schema-1"
    /// A journal of columns with pins; indexes as before.
    case schema2 = "schema-2"
    /// A journal with a row for each installed file, and who vouches for them.
    case schema3 = "schema-3"

    var schema: Int {
      switch self {
      case .schema1: 1
      case .schema2: 2
      case .schema3: 3
      }
    }

    /// Whether its store has indexes that are still read; those in JSON must be published again.
    var hasIndexes: Bool { schema > 2 }

    func unpacked() throws -> TemporaryFolder {
      let folder = try TemporaryFolder()
      let archive = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/\(rawValue).tar.gz").path(percentEncoded: false)
      let end = try Program.run("/usr/bin/env", ["tar", "-xzf", archive, "-C", folder.path])
      #expect(end.status == 0, "\(end.output)")
      return folder
    }
  }

  /// A moment at which nothing of the fixtures has expired; also on a machine whose clock is wrong.
  private static let now = Date(timeIntervalSince1970: 1_795_400_000)
  private static let products = ["a", "b", "c"].map { "com.example.\($0)" }

  private static func queue(_ folder: TemporaryFolder) throws -> PaymentQueue {
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: folder.path("library")), store: try StoreLocation(folder.path("store"))
    )
    configuration.clock = EngineClock(now: { Self.now }, uptime: EngineClock.system.uptime)
    return try PaymentQueue(configuration)
  }

  private static func reader(_ folder: TemporaryFolder) throws -> LibraryReader {
    try LibraryReader(URL(filePath: folder.path("library")))
  }

  /// What the tool of that time said of it.
  private static func said<Value: Decodable>(
    _ name: String, _ type: Value.Type, in folder: TemporaryFolder
  ) throws -> Value {
    try JSONDecoder().decode(type, from: Data(contentsOf: URL(filePath: folder.path(name))))
  }

  private struct SaidQueue: Decodable {
    struct Transaction: Decodable { let id: String }
    let transactions: [Transaction]
  }

  @Test(arguments: Fixture.allCases)
  func `a library opens with all that it had, continues, and is updated`(fixture: Fixture)
    async throws
  {
    let folder = try fixture.unpacked()
    let queue = try Self.queue(folder)
    defer { queue.close() }
    let unfinished = try Self.said("queue.json", SaidQueue.self, in: folder).transactions.map(\.id)
    let finished = try Self.said("finished.json", SaidQueue.self, in: folder).transactions.map(\.id)
    #expect(unfinished.count == 1 && finished.count == 2)
    let transaction = try #require(queue.transactions.first)
    #expect(queue.transactions.map(\.id) == unfinished)
    #expect(transaction.transactionState == .purchased)
    #expect(transaction.payment.productIdentifier.rawValue == Self.products[2])
    #expect(transaction.downloads.map(\.state) == [.failed])
    #expect(transaction.downloads.first?.error != nil)
    let reader = try Self.reader(folder)
    #expect(try reader.finishedTransactions().map(\.id).sorted() == finished.sorted())
    #expect(
      try reader.contents().map(\.content.productIdentifier.rawValue)
        == ["a", "b"].map {
          "com.example.\($0)"
        })
    // The first version had no pins.
    #expect(try reader.pins().count == min(1, fixture.schema - 1))
    // The grants file of that time is not read.
    #expect(try await queue.grants().isEmpty)
    try StoreFolder.open(at: folder.path("store")).refresh(everything: true, now: Self.now)
    _ = try await queue.deliver(
      Payment(productIdentifier: try ProductIdentifier(Self.products[0])))

    try await Self.goOn(queue, folder, hasIndexes: fixture.hasIndexes)
    let isDelivered = try reader.finishedTransactions().map(\.id).contains(unfinished[0])
    #expect(isDelivered == fixture.hasIndexes && queue.transactions.isEmpty == fixture.hasIndexes)
  }

  /// Finishes what is open if its index can be read, and updates a product.
  private static func goOn(_ queue: PaymentQueue, _ folder: TemporaryFolder, hasIndexes: Bool)
    async throws
  {
    if hasIndexes {
      for product in products { try await queue.bring(product) }
    } else {
      let error = await #expect(throws: ContentError.self) { try await queue.bring(products[2]) }
      #expect(error?.code == .storeDamaged)
    }
    try publish("1.1", of: products[0], folder)
    try await queue.bring(products[0])
    let reader = try reader(folder)
    let installed = try reader.contents().map { "\($0.content.version)\($0.isCurrent ? "!" : "")" }
    #expect(installed == ["1.0", "1.1!", "1.0!"] + (hasIndexes ? ["1.0!"] : []))
    for entry in try reader.contents() { #expect(try reader.verify(entry.content) == []) }
  }

  private static func publish(_ version: String, of product: String, _ folder: TemporaryFolder)
    throws
  {
    let source = folder.path("source/Contents")
    try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
    try Data("new in \(version)".utf8).write(to: URL(filePath: "\(source)/new.txt"))
    let package = try World.build(folder.path("source"), product, version, in: folder.path)
    try StoreFolder.open(at: folder.path("store")).publish([package], now: now)
  }

  @Test(arguments: [false, true])
  func `a journal of a newer version is refused and stays as it is to the last byte`(
    isInLog: Bool
  ) throws {
    let world = try World()
    _ = try StoreFolder.create(at: world.storePath)
    try world.queue().close()
    let copy = world.libraryPath("copy")
    do {
      let folder = try FileSystem.real.directory(at: world.libraryPath())
      let journal = try SQLiteJournal(in: folder)
      try journal.write { try $0.execute("PRAGMA user_version = \(JournalSchema.version + 1)") }
      // With the journal open the newer version stands in its log only.
      if isInLog { try FileManager.default.copyItem(atPath: world.libraryPath(), toPath: copy) }
    }
    if !isInLog { try FileManager.default.copyItem(atPath: world.libraryPath(), toPath: copy) }
    let files = ["journal.sqlite", "journal.sqlite-wal"].map { URL(filePath: "\(copy)/\($0)") }
    let before = try files.map { try Data(contentsOf: $0) }
    #expect(before[1].isEmpty != isInLog)
    for _ in 0..<2 {
      let error = #expect(throws: ContentError.self) {
        _ = try world.queue("copy")
      }
      #expect(error?.code == .libraryNewer)
      #expect(error?.message.contains("\(JournalSchema.version + 1)") == true)
      #expect(throws: ContentError.self) { try LibraryReader(URL(filePath: copy)).pins() }
      #expect(try files.map { try Data(contentsOf: $0) } == before)
    }
  }

  @Test func `an index of a newer version says that newer software is needed`() throws {
    var bytes = PackageIndex(packageLength: 0, blockLength: 4096, blocks: [], files: []).encoded
    bytes[4] += 1
    let error = #expect(throws: ContentError.self) { try PackageIndex(encoded: bytes) }
    #expect(error?.code == .formUnknown)
    #expect(throws: ContentError.self) { try PackageIndex(encoded: Array("{}".utf8)) }
  }
}

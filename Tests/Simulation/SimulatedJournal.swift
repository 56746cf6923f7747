import HostedModel
import FoundationEssentials
import HostedTestSupport

/// The content of a journal, which survives a crash once a call has returned.
struct JournalTables {
  var transactions: [TransactionID: TransactionRecord] = [:]
  var receipts: [TransactionID: String] = [:]
  /// The transactions whose orders were answered, by the seller's numbers.
  var answers: [String: TransactionID] = [:]
  /// How many times each transaction was finished.
  var finished: [TransactionID: Int] = [:]
  /// Finished purchases that the seller has not acknowledged, by transaction.
  var notices: [TransactionID: FinishNotice] = [:]
  var storeCursor: String?
  var contents: [ContentKey: Content] = [:]
  var pins: Set<ContentKey> = []

  struct Content {
    let content: InstalledContent
    let files: [InstalledFile]
    let signers: Digest?
    var isConfirmed = false
  }
}

/// The journal of a simulated library.
///
/// Each call is a transaction.
///
/// A transaction succeeds, fails or is interrupted. SQLite guarantees its own durability. Here, a
/// call that has returned is durable, and an interrupted call is either complete or absent.
// Sendable, because only the scheduled thread uses it.
final class SimulatedJournal: PlainJournal, InstallJournal, @unchecked Sendable {
  private(set) var tables: JournalTables
  /// The end of the log after an uncertain commit.
  ///
  /// The next commit overwrites it.
  private var tail: JournalTables?
  private weak var world: (any JournalDirector)?

  init(_ tables: JournalTables, _ world: (any JournalDirector)?) {
    self.tables = tables
    self.world = world
  }

  /// Returns the tables at the start after the process was killed.
  ///
  /// `isRecovered` tells whether recovery finds the commit at the end of the log.
  func afterKill(isRecovered: Bool) -> JournalTables { isRecovered ? tail ?? tables : tables }

  private func write(_ name: String, _ change: (inout JournalTables) throws -> Void) throws {
    do {
      try commit(name, change)
    } catch let uncertain as UncertainCommit {
      throw uncertain.error
    }
  }

  private func commit(_ name: String, _ change: (inout JournalTables) throws -> Void) throws {
    do {
      try world?.willWrite(name)
    } catch let uncertain as UncertainCommit {
      var next = tables
      try change(&next)
      tail = next
      throw uncertain
    } catch let error as ContentError where tail != nil {
      // The end of the log is unchanged.
      throw UncertainCommit(error)
    }
    // Read now, since another thread may have written in the meantime.
    var next = tables
    try change(&next)
    tables = next
    tail = nil
    // A crash at this point keeps the write, although it was not reported.
    try world?.didWrite(name)
  }

  private func read<Value>(_ body: (JournalTables) -> Value) throws -> Value {
    try world?.willRead()
    return body(tables)
  }

  // MARK: The queue

  func readQueue() throws -> JournaledQueue {
    try read { tables in
      let records = tables.transactions.values.sorted { $0.sequence < $1.sequence }.map { record in
        var record = record.withoutReceipt
        for index in record.downloads.indices { record.downloads[index].priority = 0 }
        return record
      }
      var queue = JournaledQueue()
      queue.transactions = records
      queue.lastSequence = records.last?.sequence ?? 0
      queue.notices = tables.notices.values.sorted { $0.transaction < $1.transaction }
      queue.storeCursor = tables.storeCursor
      return queue
    }
  }

  func receipt(of transaction: TransactionID) throws -> String? {
    try read { $0.receipts[transaction] }
  }

  func commit(_ changes: [JournalChange]) throws {
    try commit("commit") { tables in
      for change in changes {
        switch change {
        case .add(let record), .save(let record):
          if tables.finished[record.id] != nil {
            world?.violate("a finished transaction reappears", record.id.rawValue)
          }
          if let receipt = record.grant?.receipt ?? record.original?.receipt {
            tables.receipts[record.id] = receipt
          }
          tables.transactions[record.id] = record.withoutReceipt
        case .answer(let number, let id):
          let other = tables.answers.updateValue(id, forKey: number)
          if let other, other != id { throw ContentError.numberReused(number) }
        case .addNotice(let notice): tables.notices[notice.transaction] = notice
        case .removeNotice(let id): tables.notices[id] = nil
        case .storeCursor(let cursor): tables.storeCursor = cursor
        case .finish(let record):
          tables.transactions[record.id] = nil
          tables.finished[record.id, default: 0] += 1
          if tables.finished[record.id] != 1 {
            world?.violate("a transaction is finished twice", record.id.rawValue)
          }
        }
      }
    }
  }

  // MARK: The library

  func announce(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws {
    try write("announce") { tables in
      tables.contents[ContentKey(content)] = JournalTables.Content(
        content: content, files: files, signers: signers)
    }
  }

  func replace(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws {
    try write("replace") { tables in
      tables.contents[ContentKey(content)] = JournalTables.Content(
        content: content, files: files, signers: signers, isConfirmed: true)
    }
  }

  func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write("confirm") { $0.contents[ContentKey(content, version: version)]?.isConfirmed = true }
  }

  func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write("forget") { tables in
      tables.contents[ContentKey(content, version: version)] = nil
      tables.pins.remove(ContentKey(content, version: version))
    }
  }

  func announced() throws -> [InstalledContent] { try contents { !$0.isConfirmed } }

  func installed() throws -> [InstalledContent] { try contents { $0.isConfirmed } }

  func installed(_ content: ProductIdentifier) throws -> [InstalledContent] {
    try contents { $0.isConfirmed && $0.content.contentIdentifier == content }
  }

  private func contents(_ isWanted: (JournalTables.Content) -> Bool) throws -> [InstalledContent] {
    try read { tables in
      tables.contents.values.filter(isWanted).map(\.content).sorted {
        ($0.contentIdentifier, $0.version) < ($1.contentIdentifier, $1.version)
      }
    }
  }

  func pins() throws -> Set<ContentKey> { try read { $0.pins } }

  func setPin(_ pinned: Bool, on key: ContentKey) throws {
    try write("pin") { tables in
      if pinned {
        tables.pins.insert(key)
      } else {
        tables.pins.remove(key)
      }
    }
  }

  func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest? {
    try read { $0.contents[ContentKey(content, version: version)]?.signers }
  }

  func files(of content: ProductIdentifier, _ version: ContentVersion) throws -> [InstalledFile] {
    try read { $0.contents[ContentKey(content, version: version)]?.files ?? [] }
  }
}

/// Decides which faults occur in a simulated journal.
protocol JournalDirector: AnyObject {
  /// Throws the error of the call.
  ///
  /// Then nothing is written.
  func willWrite(_ name: String) throws
  func didWrite(_ name: String) throws
  func willRead() throws
  func violate(_ rule: String, _ details: String)
}

extension ContentKey {
  init(_ content: InstalledContent) {
    self.init(content.contentIdentifier, version: content.version)
  }
}

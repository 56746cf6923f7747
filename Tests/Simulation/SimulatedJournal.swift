import ContentModel
import FoundationEssentials

/// What is in a journal: all that survives a crash once a call has returned.
struct JournalTables {
  var transactions: [String: TransactionRecord] = [:]
  var receipts: [String: String] = [:]
  /// The transactions whose orders the seller's numbers answered.
  var answers: [String: String] = [:]
  /// How often each was finished.
  var finished: [String: Int] = [:]
  /// Finished purchases that the seller has not acknowledged, with its numbers.
  var notices: [String: String] = [:]
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

/// The journal of a simulated library: each call is a transaction that happens, fails, or is cut
/// off.
///
/// SQLite's own durability is SQLite's to prove; what is asked of it is that a call which returned
/// is there after a crash, and one that was under way is there or is not.
// Sendable, because only the thread that has the baton touches it.
final class SimulatedJournal: QueueJournal, InstallJournal, @unchecked Sendable {
  private(set) var tables: JournalTables
  /// What the log's end holds after a commit that failed uncertainly; the next one overwrites it.
  private var tail: JournalTables?
  private weak var world: (any JournalDirector)?

  init(_ tables: JournalTables, _ world: (any JournalDirector)?) {
    self.tables = tables
    self.world = world
  }

  /// The tables that a start finds after the process was killed; `isRecovered` says whether
  /// recovery finds the commit at the log's end.
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
      // Whatever was at the log's end is still there.
      throw UncertainCommit(error)
    }
    // Only now: another thread may have written meanwhile.
    var next = tables
    try change(&next)
    tables = next
    tail = nil
    // A crash here finds it written, though nobody has heard so.
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
      return JournaledQueue(
        transactions: records, lastSequence: records.last?.sequence ?? 0,
        notices: tables.notices.map { FinishNotice(transaction: $0.key, number: $0.value) }
          .sorted { $0.transaction < $1.transaction },
        storeCursor: tables.storeCursor)
    }
  }

  func receipt(of transaction: String) throws -> String? {
    try read { $0.receipts[transaction] }
  }

  func commit(_ changes: [JournalChange]) throws {
    try commit("commit") { tables in
      for change in changes {
        switch change {
        case .add(let record), .save(let record):
          if tables.finished[record.id] != nil {
            world?.violate("finished transaction came back", record.id)
          }
          if let receipt = record.grant?.receipt ?? record.original?.receipt {
            tables.receipts[record.id] = receipt
          }
          tables.transactions[record.id] = record.withoutReceipt
        case .answer(let number, let id):
          let other = tables.answers.updateValue(id, forKey: number)
          if let other, other != id { throw ContentError.numberReused(number) }
        case .addNotice(let notice): tables.notices[notice.transaction] = notice.number
        case .removeNotice(let id): tables.notices[id] = nil
        case .storeCursor(let cursor): tables.storeCursor = cursor
        case .finish(let record):
          tables.transactions[record.id] = nil
          tables.finished[record.id, default: 0] += 1
          if tables.finished[record.id] != 1 {
            world?.violate("transaction finished twice", record.id)
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
    try write("confirm") { $0.contents[ContentKey(content, version)]?.isConfirmed = true }
  }

  func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write("forget") { tables in
      tables.contents[ContentKey(content, version)] = nil
      tables.pins.remove(ContentKey(content, version))
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
    try read { $0.contents[ContentKey(content, version)]?.signers }
  }

  func files(of content: ProductIdentifier, _ version: ContentVersion) throws -> [InstalledFile] {
    try read { $0.contents[ContentKey(content, version)]?.files ?? [] }
  }
}

/// Decides what goes wrong in a simulated journal.
protocol JournalDirector: AnyObject {
  /// Throws what the call fails with; then nothing is written.
  func willWrite(_ name: String) throws
  func didWrite(_ name: String) throws
  func willRead() throws
  func violate(_ rule: String, _ details: String)
}

extension ContentKey {
  init(_ content: InstalledContent) { self.init(content.contentIdentifier, content.version) }
}

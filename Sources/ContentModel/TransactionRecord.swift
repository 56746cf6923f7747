/// The state of a transaction, numbered as in StoreKit.
public enum TransactionState: Int, Codable, Sendable, CaseIterable {
  /// Sent to the seller, not answered. Next: purchased, failed, deferred.
  case purchasing = 0
  /// Bought; deliver, then finish. Next: removed.
  case purchased = 1
  /// Refused or failed; finish it. Next: removed.
  case failed = 2
  /// From the account's history, or an update of what is installed. Next: removed.
  case restored = 3
  /// Somebody else decides later. Next: purchased, failed.
  case deferred = 4
}

/// The state of a download, numbered as in StoreKit.
public enum DownloadState: Int, Codable, Sendable, CaseIterable {
  /// Not started, or started and waiting for its turn. Next: active, paused, cancelled.
  case waiting = 0
  /// Being fetched and installed. Next: finished, failed, paused, cancelled, waiting.
  case active = 1
  /// Paused by the user; keeps its bytes. Next: waiting, active, cancelled, finished.
  case paused = 2
  /// Its content is installed and usable. Last.
  case finished = 3
  /// Ended by an error; keeps its bytes. Next: waiting, active, cancelled.
  case failed = 4
  /// Cancelled by the user; its bytes are dropped. Next: waiting, active.
  case cancelled = 5
}

/// A transaction as the journal keeps it; a value that shares its storage until one copy changes.
///
/// There may be a hundred thousand of them, and queue, handles and reports each hold them all.
package struct TransactionRecord: Hashable, Sendable {
  private var storage: Storage

  // Sendable because it is changed only while one value alone holds it.
  private final class Storage: @unchecked Sendable {
    var fields: Fields

    init(_ fields: Fields) { self.fields = fields }
  }

  private struct Fields: Hashable {
    let id: String
    let sequence: Int
    let payment: Payment
    var state: TransactionState
    var grant: Grant?
    // Most transactions have neither.
    var original: Shared<Grant>?
    var error: Shared<ContentError>?
    var downloads: [DownloadRecord]
  }

  package init(
    id: String, sequence: Int, payment: Payment, state: TransactionState, grant: Grant? = nil,
    original: Grant? = nil, error: ContentError? = nil, downloads: [DownloadRecord] = []
  ) {
    storage = Storage(
      Fields(
        id: id, sequence: sequence, payment: payment, state: state, grant: grant,
        original: original.map(Shared.init), error: error.map(Shared.init), downloads: downloads))
  }

  private mutating func change(_ body: (inout Fields) -> Void) {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
    body(&storage.fields)
  }

  /// The queue's own name for it, unique in a library.
  package var id: String { storage.fields.id }
  /// Where it stands in the queue; later ones have larger numbers.
  package var sequence: Int { storage.fields.sequence }
  package var payment: Payment { storage.fields.payment }

  package var state: TransactionState {
    get { storage.fields.state }
    set { change { $0.state = newValue } }
  }

  /// What the seller granted; only when purchased or restored.
  ///
  /// Without its receipt once the journal has that: see `QueueJournal.receipt(of:)`.
  package var grant: Grant? {
    get { storage.fields.grant }
    set { change { $0.grant = newValue } }
  }

  /// The purchase that is restored, whose receipt is the grant's; only when restored.
  package var original: Grant? {
    get { storage.fields.original?.value }
    set { change { $0.original = newValue.map(Shared.init) } }
  }

  /// Only when failed.
  package var error: ContentError? {
    get { storage.fields.error?.value }
    set { change { $0.error = newValue.map(Shared.init) } }
  }

  package var downloads: [DownloadRecord] {
    get { storage.fields.downloads }
    set { change { $0.downloads = newValue } }
  }

  /// The record as it is kept in memory, its receipt left to the journal.
  package var withoutReceipt: TransactionRecord {
    guard grant?.receipt != nil || original?.receipt != nil else { return self }
    var record = self
    record.grant = grant?.withoutReceipt
    record.original = original?.withoutReceipt
    return record
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.storage === right.storage || left.storage.fields == right.storage.fields
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(storage.fields) }
}

extension Grant {
  /// The same purchase without its receipt.
  package var withoutReceipt: Grant {
    Grant(transactionIdentifier: transactionIdentifier, date: date, payment: payment)
  }
}

extension TransactionRecord {
  /// Has finished downloads of `contents` wait to be started again; whether there are any.
  package mutating func reopenDownloads(of contents: Set<ContentKey>) -> Bool {
    let lost = downloads.indices.filter {
      downloads[$0].state == .finished && contents.contains(downloads[$0].content)
    }
    for position in lost { downloads[position].state = .waiting }
    return !lost.isEmpty
  }
}

extension [TransactionRecord] {
  /// The versions that finished downloads have installed.
  package var finishedContents: Set<ContentKey> {
    var contents: Set<ContentKey> = []
    for record in self {
      for download in record.downloads where download.state == .finished {
        contents.insert(download.content)
      }
    }
    return contents
  }
}

/// A value that many hold, each by a pointer to the same storage.
package final class Shared<Value: Hashable & Sendable>: Hashable, Sendable {
  package let value: Value

  package init(_ value: Value) { self.value = value }

  package static func == (left: Shared, right: Shared) -> Bool {
    left === right || left.value == right.value
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// A download as the journal keeps it.
package struct DownloadRecord: Hashable, Sendable {
  /// Its transaction's identifier, whose storage is shared: a hundred thousand names would be many.
  private let transaction: String
  /// From 1, in its transaction.
  private let number: Int32
  /// −1000 to 1000, of which the higher one has its turn first; not journaled.
  package var priority: Int32 = 0
  /// One storage for the thousands of downloads that may have the same offer.
  package private(set) var sharedOffer: Shared<ContentOffer>
  private var sharedError: Shared<ContentError>?
  package var state: DownloadState
  /// Whether it was asked to start; a waiting one that was not stays where it is.
  package var isRequested: Bool
  /// Whether the version stays beside the current one; nil in records of before there was a choice.
  package var keepsCurrent: Bool?

  /// Download `number`, from 1, of the transaction named `transaction`.
  package init(
    of transaction: String, number: Int, sharing offer: Shared<ContentOffer>,
    state: DownloadState = .waiting, isRequested: Bool = false, error: ContentError? = nil
  ) {
    self.transaction = transaction
    self.number = Int32(clamping: number)
    sharedOffer = offer
    self.state = state
    self.isRequested = isRequested
    sharedError = error.map(Shared.init)
  }

  /// Unique in a library, and its staging folder's name: `<transaction>-<number>`.
  package var id: String { "\(transaction)-\(number)" }

  package var offer: ContentOffer {
    get { sharedOffer.value }
    set { sharedOffer = Shared(newValue) }
  }

  /// The version that it installs.
  package var content: ContentKey { ContentKey(offer.contentIdentifier, offer.version) }

  /// Only when failed.
  package var error: ContentError? {
    get { sharedError?.value }
    set { sharedError = newValue.map(Shared.init) }
  }

  /// The transaction that a download of this name belongs to; nil when it is no such name.
  package static func transaction(ofDownload id: String) -> String? {
    id.utf8.lastIndex(of: UInt8(ascii: "-")).map { String(id[..<$0]) }
  }
}

/// The durable record of the queue; kept by the journal.
///
/// Durable when a call returns; throws `journalFailed` or `diskFull`, and then nothing changed.
package protocol QueueJournal: Sendable {
  /// All unfinished transactions, without their receipts.
  func readQueue() throws -> JournaledQueue
  /// The seller's receipt for an unfinished transaction; nil when there is none.
  func receipt(of transaction: String) throws -> String?
  /// Carries out all changes or none.
  ///
  /// Throws `answerMismatch` for a number that answered another order, `transactionExists` for a new
  /// record with a known identifier, and `UncertainCommit` if a crash may bring the changes back.
  func commit(_ changes: [JournalChange]) throws
  /// Removes every record that cannot be read; returns what each one was.
  func removeUnreadable() throws -> [ContentError]
}

extension QueueJournal {
  /// Every record can be read.
  package func removeUnreadable() throws -> [ContentError] { [] }

  /// All unfinished transactions that can be read, in their order, without their receipts.
  package func transactions() throws -> [TransactionRecord] { try readQueue().transactions }
}

/// The unfinished transactions in a journal.
package struct JournaledQueue: Sendable {
  /// Those that can be read, in their order.
  package var transactions: [TransactionRecord]
  /// Why others cannot be read, each naming its transaction; their rows stay in the journal.
  package var unreadable: [ContentError]
  /// The highest sequence number, that of unreadable ones included; 0 for none.
  package var lastSequence: Int

  package init(
    transactions: [TransactionRecord] = [], unreadable: [ContentError] = [], lastSequence: Int = 0
  ) {
    self.transactions = transactions
    self.unreadable = unreadable
    self.lastSequence = lastSequence
  }
}

/// A commit failed so that its outcome is not known: its changes cannot be seen now, and a start after a
/// crash may find them.
///
/// The next commit that writes something decides it: then they are gone.
package struct UncertainCommit: Error {
  /// Why the commit failed.
  package let error: ContentError

  package init(_ error: ContentError) { self.error = error }
}

/// One change of the queue's durable record.
package enum JournalChange: Hashable, Sendable {
  /// Saves a record whose identifier is new: no transaction has had it, a finished one neither.
  case add(TransactionRecord)
  /// A receipt that the record does not carry stays as it was journaled.
  case save(TransactionRecord)
  /// Takes the transaction out and remembers that it was finished, once.
  case finish(TransactionRecord)
  /// Remembers which transaction's order the seller's number answered; a number answers one only.
  case answer(number: String, transaction: String)

  /// The record that it saves; nil for other changes.
  package var savedRecord: TransactionRecord? {
    switch self {
    case .add(let record), .save(let record): record
    case .finish, .answer: nil
    }
  }
}

/// What is remembered of a transaction that is gone.
package struct FinishedTransaction: Hashable, Sendable {
  package let id: String
  package let productIdentifier: ProductIdentifier
  /// The state it was finished in.
  package let state: TransactionState

  package init(id: String, productIdentifier: ProductIdentifier, state: TransactionState) {
    self.id = id
    self.productIdentifier = productIdentifier
    self.state = state
  }
}

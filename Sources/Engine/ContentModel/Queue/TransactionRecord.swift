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

/// The state of a transaction, with the values that exist only in that state.
///
/// Rare payloads are indirect: a queue may have a hundred thousand transactions.
package enum TransactionStatus: Hashable, Sendable {
  case purchasing
  /// With what the seller granted.
  case purchased(Grant)
  indirect case failed(ContentError)
  /// With the grant of this transaction, and that of the purchase that it restores or updates.
  indirect case restored(Grant, original: Grant)
  case deferred

  package var state: TransactionState {
    switch self {
    case .purchasing: .purchasing
    case .purchased: .purchased
    case .failed: .failed
    case .restored: .restored
    case .deferred: .deferred
    }
  }

  /// The status without receipts.
  fileprivate var withoutReceipt: TransactionStatus {
    switch self {
    case .purchased(let grant): .purchased(grant.withoutReceipt)
    case .restored(let grant, let original):
      .restored(grant.withoutReceipt, original: original.withoutReceipt)
    case .purchasing, .failed, .deferred: self
    }
  }
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
    var status: TransactionStatus
    var downloads: [DownloadRecord]
  }

  package init(
    id: String, sequence: Int, payment: Payment, status: TransactionStatus,
    downloads: [DownloadRecord] = []
  ) {
    storage = Storage(
      Fields(id: id, sequence: sequence, payment: payment, status: status, downloads: downloads))
  }

  private mutating func change(_ body: (inout Fields) -> Void) {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
    body(&storage.fields)
  }

  /// The queue's identifier of the transaction, unique in a library.
  package var id: String { storage.fields.id }
  /// The position in the queue; later transactions have larger numbers.
  package var sequence: Int { storage.fields.sequence }
  package var payment: Payment { storage.fields.payment }

  package var status: TransactionStatus {
    get { storage.fields.status }
    set { change { $0.status = newValue } }
  }

  package var state: TransactionState { status.state }

  /// What the seller granted; nil unless purchased or restored.
  ///
  /// Without its receipt once the journal has that: see `QueueJournal.receipt(of:)`.
  package var grant: Grant? {
    switch status {
    case .purchased(let grant), .restored(let grant, _): grant
    case .purchasing, .failed, .deferred: nil
    }
  }

  /// The purchase that is restored, whose receipt is the grant's; nil unless restored.
  package var original: Grant? {
    if case .restored(_, let original) = status { original } else { nil }
  }

  /// Nil unless failed.
  package var error: ContentError? {
    if case .failed(let error) = status { error } else { nil }
  }

  package var downloads: [DownloadRecord] {
    get { storage.fields.downloads }
    set { change { $0.downloads = newValue } }
  }

  /// The record as it is kept in memory; the journal has its receipt.
  package var withoutReceipt: TransactionRecord {
    guard grant?.receipt != nil || original?.receipt != nil else { return self }
    var record = self
    record.status = status.withoutReceipt
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
    for position in lost { downloads[position].status = .waiting(isRequested: false) }
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

/// The state of a download, with the values that exist only in that state.
package enum DownloadStatus: Hashable, Sendable {
  /// A download that was not requested to start waits for that, others for a free worker.
  case waiting(isRequested: Bool)
  case active
  case paused
  case finished
  indirect case failed(ContentError)
  case cancelled

  package var state: DownloadState {
    switch self {
    case .waiting: .waiting
    case .active: .active
    case .paused: .paused
    case .finished: .finished
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}

/// A download as the journal keeps it.
package struct DownloadRecord: Hashable, Sendable {
  /// Its transaction's identifier, whose storage is shared: a hundred thousand names would be many.
  private let transaction: String
  /// From 1, in its transaction.
  private let number: Int32
  /// −1000 to 1000, of which higher ones start first; not journaled.
  package var priority: Int32 = 0
  /// One storage for the thousands of downloads that may have the same offer.
  package private(set) var sharedOffer: Shared<ContentOffer>
  package var status: DownloadStatus
  /// Whether the version stays beside the current one; nil unless an update decided it.
  package var keepsCurrent: Bool?

  /// Download `number`, from 1, of the transaction named `transaction`.
  package init(
    of transaction: String, number: Int, sharing offer: Shared<ContentOffer>,
    status: DownloadStatus = .waiting(isRequested: false)
  ) {
    self.transaction = transaction
    self.number = Int32(clamping: number)
    sharedOffer = offer
    self.status = status
  }

  /// Unique in a library, and its staging folder's name: `<transaction>-<number>`.
  package var id: String { "\(transaction)-\(number)" }

  package var offer: ContentOffer {
    get { sharedOffer.value }
    set { sharedOffer = Shared(newValue) }
  }

  /// The version that it installs.
  package var content: ContentKey { ContentKey(offer.contentIdentifier, offer.version) }

  package var state: DownloadState { status.state }

  /// Whether it waits for a free worker.
  package var isRequested: Bool { status == .waiting(isRequested: true) }

  /// Nil unless failed.
  package var error: ContentError? {
    if case .failed(let error) = status { error } else { nil }
  }

  /// The transaction that a download of this name belongs to; nil when it is no such name.
  package static func transaction(ofDownload id: String) -> String? {
    id.utf8.lastIndex(of: UInt8(ascii: "-")).map { String(id[..<$0]) }
  }
}

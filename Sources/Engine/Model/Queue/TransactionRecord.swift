/// The state of a transaction, numbered as in StoreKit.
public enum TransactionState: Int, Codable, Sendable, CaseIterable, CustomStringConvertible {
  /// Sent to the service, without outcome. Next: purchased, failed, deferred.
  case purchasing = 0
  /// Purchased; deliver it, then finish it. Next: removed.
  case purchased = 1
  /// Refused or failed; finish it. Next: removed.
  case failed = 2
  /// Restored from the account's history, or an update of installed content. Next: removed.
  case restored = 3
  /// Waiting for approval. Next: purchased, failed.
  case deferred = 4

  /// The name of the state.
  public var description: String {
    switch self {
    case .purchasing: "purchasing"
    case .purchased: "purchased"
    case .failed: "failed"
    case .restored: "restored"
    case .deferred: "deferred"
    }
  }
}

/// The state of a transaction, with the values of that state.
///
/// Rare payloads are indirect, because a queue may have 100,000 transactions.
package enum TransactionStatus: Hashable, Sendable {
  case purchasing
  case purchased(Grant)
  indirect case failed(ContentError)
  /// With the grant of this transaction, and of the purchase that it restores or updates.
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

  fileprivate var withoutReceipt: TransactionStatus {
    switch self {
    case .purchased(let grant): .purchased(grant.withoutReceipt)
    case .restored(let grant, let original):
      .restored(grant.withoutReceipt, original: original.withoutReceipt)
    case .purchasing, .failed, .deferred: self
    }
  }
}

/// A transaction as journaled; copies share their storage.
///
/// The queue, handles and reports may each hold 100,000 of them.
package struct TransactionRecord: Hashable, Sendable {
  private var shared: Shared<Fields>

  private struct Fields: Hashable {
    let id: TransactionID
    let sequence: Int
    let payment: Payment
    var status: TransactionStatus
    var downloads: [DownloadRecord]
  }

  package init(
    id: TransactionID, sequence: Int, payment: Payment, status: TransactionStatus,
    downloads: [DownloadRecord] = []
  ) {
    shared = Shared(
      Fields(id: id, sequence: sequence, payment: payment, status: status, downloads: downloads))
  }

  private var fields: Fields {
    get { shared.value }
    set { shared = Shared(newValue) }
  }

  /// The identifier, unique in a library.
  package var id: TransactionID { fields.id }
  /// The position in the queue; later transactions have larger numbers.
  package var sequence: Int { fields.sequence }
  package var payment: Payment { fields.payment }

  package var status: TransactionStatus {
    get { fields.status }
    set { fields.status = newValue }
  }

  package var state: TransactionState { status.state }

  /// The service's grant; nil unless purchased or restored.
  ///
  /// It loses its receipt after that is journaled: see `QueueJournal.receipt(of:)`.
  package var grant: Grant? {
    switch status {
    case .purchased(let grant), .restored(let grant, _): grant
    case .purchasing, .failed, .deferred: nil
    }
  }

  /// The restored purchase, with the receipt of the grant; nil unless restored.
  package var original: Grant? {
    if case .restored(_, let original) = status { original } else { nil }
  }

  /// Nil unless failed.
  package var error: ContentError? {
    if case .failed(let error) = status { error } else { nil }
  }

  package var downloads: [DownloadRecord] {
    get { fields.downloads }
    set { fields.downloads = newValue }
  }

  var hasReceipt: Bool { grant?.receipt != nil || original?.receipt != nil }

  /// The record without receipts, as kept in memory; the journal has the receipts.
  package var withoutReceipt: TransactionRecord {
    guard hasReceipt else { return self }
    var record = self
    record.status = status.withoutReceipt
    return record
  }

  /// Sets finished downloads of `contents` to waiting; returns whether there were any.
  package mutating func reopenDownloads(of contents: Set<ContentKey>) -> Bool {
    let lost = downloads.indices.filter {
      downloads[$0].state == .finished && contents.contains(downloads[$0].content)
    }
    for position in lost { downloads[position].status = .waiting(isRequested: false) }
    return !lost.isEmpty
  }
}

extension Grant {
  package var withoutReceipt: Grant {
    Grant(transactionIdentifier: transactionIdentifier, date: date, payment: payment)
  }
}

extension [TransactionRecord] {
  package var finishedContents: Set<ContentKey> {
    Set(lazy.flatMap(\.downloads).filter { $0.state == .finished }.map(\.content))
  }
}

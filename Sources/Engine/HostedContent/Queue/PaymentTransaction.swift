public import FoundationEssentials
import HostedConcurrency

/// A purchase in the queue: a handle that shows its last reported state.
///
/// Equal handles refer to the same transaction, even those of an earlier queue of the library;
/// these show the state that their queue last reported. A handle stays readable after the
/// transaction is finished. May be used from any thread. Values change only on the queue's delivery
/// queue, between callbacks. Source: `SKPaymentTransaction`.
public struct PaymentTransaction: Sendable, Identifiable, Hashable, CustomStringConvertible {
  let report: TransactionReport

  /// The identifier in the queue, unique in a library.
  public var id: TransactionID { report.id }
  /// The payment.
  public var payment: Payment { report.record.payment }
  /// The state.
  public var transactionState: TransactionState { report.record.state }
  /// The seller's number of a purchase, or a number of its own if restored; otherwise nil.
  ///
  /// The seller's number of a restored purchase is in `original`.
  public var transactionIdentifier: String? { report.record.grant?.transactionIdentifier }
  /// The date of the purchase; nil unless purchased or restored.
  public var transactionDate: Date? { report.record.grant?.date }
  /// The purchase that was restored or updated, without its receipt; nil unless restored.
  public var original: Grant? { report.record.original?.withoutReceipt }
  /// The error of a failed transaction; nil in other states.
  public var error: ContentError? { report.record.error }
  /// The downloads; empty before the purchase and for a product without content.
  public var downloads: [Download] {
    report.record.downloads.indices.map { Download(report: report, position: $0) }
  }

  /// Returns the seller's signed receipt (JWS) of the purchase; nil if the seller does not sign.
  ///
  /// Reads the library's journal. A restored transaction has the receipt of its `original`. Throws
  /// the errors of the journal.
  public func transactionReceipt() async throws -> String? {
    try await performBlocking { try self.transactionReceipt() }
  }

  /// Blocks for as long as a commit of the journal may take; otherwise the same.
  package func transactionReceipt() throws -> String? {
    try report.record.grant.flatMap { grant in
      try grant.receipt ?? report.library.journal.receipt(of: report.id)
    }
  }

  /// Returns whether both have the same identifier, even from different queues of a library.
  public static func == (left: Self, right: Self) -> Bool { left.report.id == right.report.id }

  /// Hashes the identifier.
  public func hash(into hasher: inout Hasher) { hasher.combine(report.id) }

  /// The identifier, the state and the payment.
  public var description: String { "transaction \(id): \(transactionState), \(payment)" }
}

/// Data that all handles of one library share.
final class ReportLibrary: Sendable {
  /// The path of the library's `products` folder, for content URLs.
  let productsPath: String
  let journal: any QueueJournal
  private let owner = Mutex(WeakReference<PaymentQueue>())

  init(productsPath: String, journal: any QueueJournal) {
    self.productsPath = productsPath
    self.journal = journal
  }

  /// The queue; nil after it is deallocated.
  var queue: PaymentQueue? {
    get { owner.withLock { $0 }.object }
    set {
      let reference = WeakReference(newValue)
      owner.withLock { $0 = reference }
    }
  }
}

/// The last reported state of a transaction and its downloads; shared by all its handles.
final class TransactionReport: Sendable {
  let id: TransactionID
  /// The position in the queue's order.
  let sequence: Int
  let library: ReportLibrary
  private let state: Mutex<State>

  private struct State {
    var record: TransactionRecord
    /// Nil if no download has progress, which is usual.
    var progress: [DownloadID: DownloadProgress]?
  }

  init(_ record: TransactionRecord, in library: ReportLibrary) {
    id = record.id
    sequence = record.sequence
    self.library = library
    state = Mutex(State(record: record))
  }

  var record: TransactionRecord { state.withLock { $0.record } }

  func progress(of download: DownloadID) -> DownloadProgress? {
    state.withLock { $0.progress?[download] }
  }

  /// Stores `record`; a new attempt of a download resets its progress.
  func update(_ record: TransactionRecord) {
    state.withLock { state in
      if state.progress != nil {
        let wasActive = Set(state.record.downloads.filter { $0.state == .active }.map(\.id))
        for download in record.downloads
        where download.state == .active && !wasActive.contains(download.id) {
          state.progress?[download.id] = nil
        }
      }
      state.record = record
    }
  }

  func update(_ progress: DownloadProgress, of download: DownloadID) {
    state.withLock { $0.progress = ($0.progress ?? [:]).merging([download: progress]) { $1 } }
  }
}

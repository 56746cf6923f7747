public import ContentModel
public import FoundationEssentials
import Concurrency

/// A purchase on its way: a handle that shows what the queue reported last.
///
/// Equal handles name the same transaction, also those of an earlier queue of the library, which
/// show what that queue reported last. It stays readable after it was finished. May be used from
/// any thread; what it says changes only on the queue's delivery queue, between callbacks. Source:
/// `SKPaymentTransaction`.
public struct PaymentTransaction: Sendable, Identifiable {
  let report: TransactionReport

  /// The queue's own name for it, unique in a library.
  public var id: TransactionID { TransactionID(rawValue: report.id) }
  /// What was paid for.
  public var payment: Payment { report.record.payment }
  /// Where it stands.
  public var transactionState: TransactionState { report.record.state }
  /// The seller's number of the purchase; only when purchased or restored.
  public var transactionIdentifier: String? { report.record.grant?.transactionIdentifier }
  /// When it was bought; only when purchased or restored.
  public var transactionDate: Date? {
    report.record.grant?.date
  }
  /// The seller's signed receipt (JWS); nil when the seller holds no key, or it cannot be read.
  ///
  /// Read from the library's journal each time, which may block for as long as a commit takes.
  public var transactionReceipt: String? {
    report.record.grant.flatMap { $0.receipt ?? report.library.receipt(of: report.id) }
  }
  /// The purchase that is restored or updated; only when restored.
  ///
  /// Its receipt is read as `transactionReceipt` is.
  public var original: Grant? {
    report.record.original.map { original in
      Grant(
        transactionIdentifier: original.transactionIdentifier, date: original.date,
        payment: original.payment, receipt: transactionReceipt)
    }
  }
  /// Why it failed; only when failed.
  public var error: ContentError? { report.record.error }
  /// Its downloads; empty for a product without content, and before it is purchased.
  public var downloads: [Download] {
    report.record.downloads.indices.map { Download(report: report, position: $0) }
  }
}

extension PaymentTransaction: Hashable {
  /// Whether both have the same identifier; they may come from different queues of a library.
  public static func == (left: Self, right: Self) -> Bool { left.report.id == right.report.id }

  /// Hashes the identifier.
  public func hash(into hasher: inout Hasher) { hasher.combine(report.id) }
}

/// What the handles of one library share.
final class ReportLibrary: Sendable {
  /// The path of a library's `products` folder, for content URLs.
  let productsPath: String
  private let journal: any QueueJournal
  private let owner = Mutex(Owner())

  private struct Owner {
    weak var queue: PaymentQueue?
  }

  init(productsPath: String, journal: any QueueJournal) {
    self.productsPath = productsPath
    self.journal = journal
  }

  /// The queue, while there is one.
  var queue: PaymentQueue? {
    get { owner.withLock { $0.queue } }
    set { owner.withLock { $0.queue = newValue } }
  }

  /// What cannot be read now may be asked for again; the queue itself does not depend on it.
  func receipt(of transaction: String) -> String? {
    do { return try journal.receipt(of: transaction) } catch { return nil }
  }
}

/// What was reported last of a transaction and its downloads; shared by all handles to it.
final class TransactionReport: Sendable {
  let id: String
  /// The place in the queue's order.
  let sequence: Int
  let library: ReportLibrary
  private let state: Mutex<State>

  private struct State {
    var record: TransactionRecord
    /// By the download's identifier; nil while nothing moves, as in most.
    var progress: [String: DownloadProgress]?
  }

  init(_ record: TransactionRecord, in library: ReportLibrary) {
    id = record.id
    sequence = record.sequence
    self.library = library
    state = Mutex(State(record: record))
  }

  var record: TransactionRecord { state.withLock { $0.record } }

  func progress(of download: String) -> DownloadProgress? {
    state.withLock { $0.progress?[download] }
  }

  /// Takes what `record` says; an attempt that begins has no progress yet.
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

  func update(_ progress: DownloadProgress, of download: String) {
    state.withLock { $0.progress = ($0.progress ?? [:]).merging([download: progress]) { $1 } }
  }
}

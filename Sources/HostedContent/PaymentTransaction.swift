public import ContentModel
public import FoundationEssentials
import Synchronization

/// A purchase on its way: a handle that shows what the queue reported last.
///
/// Equal handles name the same transaction. It stays readable after it was finished. May be used
/// from any thread; what it says changes only on the queue's delivery queue, between callbacks.
/// Source: `SKPaymentTransaction`.
public struct PaymentTransaction: Sendable, Identifiable {
  let report: TransactionReport

  /// The queue's own name for it, unique in a library.
  public var id: String { report.id }
  /// What was paid for.
  public var payment: Payment { report.record.payment }
  /// Where it stands.
  public var transactionState: TransactionState { report.record.state }
  /// The seller's number of the purchase; only when purchased or restored.
  public var transactionIdentifier: String? { report.record.grant?.transactionIdentifier }
  /// When it was bought; only when purchased or restored.
  public var transactionDate: Date? {
    report.record.grant.map { Date(timeIntervalSince1970: $0.date) }
  }
  /// The seller's signed receipt (JWS); nil when the seller holds no key.
  public var transactionReceipt: String? { report.record.grant?.receipt }
  /// The purchase that is restored or updated; only when restored.
  public var original: Grant? { report.record.original }
  /// Why it failed; only when failed.
  public var error: ContentError? { report.record.error }
  /// Its downloads; empty for a product without content, and before it is purchased.
  public var downloads: [Download] {
    report.record.downloads.indices.map { Download(report: report, position: $0) }
  }
}

extension PaymentTransaction: Hashable {
  /// Whether both are the same transaction.
  public static func == (left: Self, right: Self) -> Bool { left.report === right.report }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(report)) }
}

/// What was reported last of a transaction and its downloads; shared by all handles to it.
final class TransactionReport: Sendable {
  let id: String
  /// The path of a library's `products` folder, for content URLs.
  let productsPath: String
  private let state: Mutex<(record: TransactionRecord, progress: [String: DownloadProgress])>

  init(_ record: TransactionRecord, productsPath: String) {
    id = record.id
    self.productsPath = productsPath
    state = Mutex((record, [:]))
  }

  var record: TransactionRecord { state.withLock { $0.record } }

  func progress(of download: String) -> DownloadProgress? {
    state.withLock { $0.progress[download] }
  }

  /// Takes what `record` says; an attempt that begins has no progress yet.
  func update(_ record: TransactionRecord) {
    state.withLock { state in
      let old = Dictionary(state.record.downloads.map { ($0.id, $0.state) }) { first, _ in first }
      for download in record.downloads
      where download.state == .active && old[download.id] != .active {
        state.progress[download.id] = nil
      }
      state.record = record
    }
  }

  func update(_ progress: DownloadProgress, of download: String) {
    state.withLock { $0.progress[download] = progress }
  }
}

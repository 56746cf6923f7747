public import ContentModel
public import ContentTransfer
public import FoundationEssentials

/// A content package on its way into the library: a handle that shows what was reported last.
///
/// Equal handles name the same download. May be used from any thread; what it says changes only on
/// the queue's delivery queue, between callbacks. Source: `SKDownload`.
public struct Download: Sendable, Identifiable {
  let report: TransactionReport
  let position: Int

  var record: DownloadRecord { report.record.downloads[position] }

  /// Unique in a library.
  public var id: DownloadID { DownloadID(rawValue: record.id) }
  /// Where it stands.
  public var state: DownloadState { record.state }
  /// The content's name; the product's unless a product has several.
  public var contentIdentifier: ProductIdentifier { record.offer.contentIdentifier }
  /// The version that is downloaded, known before it starts.
  public var contentVersion: ContentVersion { record.offer.version }
  /// Bytes of the archive; 0 while the store's catalog does not have the content.
  public var expectedContentLength: Int64 { record.offer.package.length }

  /// The part that is done, 0 to 1, by bytes fetched and written; never less within one attempt.
  ///
  /// Do not test completion with it: test `state`.
  public var progress: Double {
    record.state == .finished ? 1 : report.progress(of: record.id)?.fraction ?? 0
  }

  /// The estimated time until it is finished; nil while it is unknown.
  public var timeRemaining: Duration? {
    switch record.state {
    case .active: report.progress(of: record.id)?.timeRemaining.map { .seconds($0) }
    case .finished: .zero
    case .waiting, .paused, .failed, .cancelled: nil
    }
  }

  /// What is done for it now; nil unless it is active.
  public var phase: DownloadPhase? {
    guard record.state == .active else { return nil }
    return report.progress(of: record.id)?.activity.phase ?? .preparing
  }

  /// Why it waits, and until when; nil unless it is active and its phase is `.waiting`.
  public var wait: TransferWait? {
    guard record.state == .active else { return nil }
    return report.progress(of: record.id)?.activity.wait
  }

  /// What its transfers did in the last attempt, as reported last.
  public var statistics: TransferStatistics {
    report.progress(of: record.id)?.statistics ?? TransferStatistics()
  }

  /// Downloads of higher priority get their turn and their bytes first; see `setPriority`.
  public var priority: Int { Int(record.priority) }

  /// The version's folder, with ContentInfo.plist and Contents; only when finished.
  ///
  /// Valid until that version is removed from the library, also after the transaction is finished.
  /// Copy files from it, do not move them: the library verifies, shares and removes them. Missing
  /// files are fetched again by the next download of the version.
  public var contentURL: URL? {
    guard record.state == .finished else { return nil }
    return URL(
      filePath: "\(report.library.productsPath)/\(contentIdentifier)/\(contentVersion)",
      directoryHint: .isDirectory)
  }

  /// Why it failed; only when failed.
  public var error: ContentError? { record.error }
  /// The transaction that it belongs to.
  public var transaction: PaymentTransaction { PaymentTransaction(report: report) }
}

extension Download: Hashable {
  /// Whether both are the same download of the same transaction.
  public static func == (left: Self, right: Self) -> Bool {
    left.report.id == right.report.id && left.position == right.position
  }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(report.id)
    hasher.combine(position)
  }
}

public import HostedTransfer
public import FoundationEssentials

/// The download of a content package: a handle that shows its last reported state.
///
/// Equal handles refer to the same download. May be used from any thread. Values change only on the
/// queue's delivery queue, between callbacks. Source: `SKDownload`.
public struct Download: Sendable, Identifiable, Hashable, CustomStringConvertible {
  let report: TransactionReport
  let position: Int

  var record: DownloadRecord { report.record.downloads[position] }

  /// The identifier, unique in a library.
  public var id: DownloadID { record.id }
  /// The state.
  public var state: DownloadState { record.state }
  /// The content's identifier; equal to the product's unless the product has several contents.
  public var contentIdentifier: ProductIdentifier { record.offer.contentIdentifier }
  /// The version to download, known before the download starts.
  public var contentVersion: ContentVersion { record.offer.version }
  /// The size of the package in bytes; 0 if the store's catalog does not have the content.
  public var expectedContentLength: Int64 { record.offer.package.length }

  /// The progress from 0 to 1, by bytes fetched and written; never decreases in one attempt.
  ///
  /// To test for completion, use `state`.
  public var progress: Double {
    record.state == .finished ? 1 : report.progress(of: record.id)?.fraction ?? 0
  }

  /// The estimated remaining time; nil if unknown.
  public var timeRemaining: Duration? {
    switch record.state {
    case .active: report.progress(of: record.id)?.timeRemaining.map { .seconds($0) }
    case .finished: .zero
    case .waiting, .paused, .failed, .cancelled: nil
    }
  }

  /// Whether it waits for its turn; false for a waiting download that was not started.
  ///
  /// It becomes active without another call: as soon as fewer than `maximumActiveDownloads` are
  /// active, and no other download of the same content is.
  public var isQueued: Bool { record.isRequested }

  /// The current phase; nil unless the download is active.
  public var phase: DownloadPhase? {
    guard record.state == .active else { return nil }
    return report.progress(of: record.id)?.phase ?? .preparing
  }

  /// The reason and end of the current wait; nil unless it is active and in phase `.waiting`.
  public var wait: TransferWait? {
    guard record.state == .active else { return nil }
    return report.progress(of: record.id)?.wait
  }

  /// Statistics of its transfers in the last attempt, as last reported.
  public var statistics: TransferStatistics {
    report.progress(of: record.id)?.statistics ?? TransferStatistics()
  }

  /// The priority, as set by `setPriority`; higher priorities start and receive data first.
  public var priority: Int { Int(record.priority) }

  /// The version's folder, with ContentInfo.plist and Contents; nil unless finished.
  ///
  /// Valid until that version is removed from the library, even after the transaction is finished.
  /// Copy files from it, do not move them: the library verifies, shares and removes them. The next
  /// download of the version fetches missing files again.
  public var contentURL: URL? {
    guard record.state == .finished else { return nil }
    return URL(
      filePath: "\(report.library.productsPath)/\(contentIdentifier)/\(contentVersion)",
      directoryHint: .isDirectory)
  }

  /// The error of a failed download; nil in other states.
  public var error: ContentError? { record.error }
  /// The transaction of this download.
  public var transaction: PaymentTransaction { PaymentTransaction(report: report) }

  /// Returns a new stream of this download's reports; the first has its current state.
  ///
  /// It ends when the download or its transaction is finished, or the queue is closed.
  public func updates() -> AsyncStream<DownloadUpdate> {
    let queue = report.library.queue
    let signals = queue?.signals(about: report.id).stream
    // Nothing is reported about a removed transaction.
    let isUnfinished = queue?.delivery.transaction(report.id) != nil
    return AsyncStream { continuation in
      let current = DownloadUpdate(self)
      continuation.yield(current)
      // Nothing more is reported about a finished download.
      guard let signals, isUnfinished, current.state != .finished else {
        return continuation.finish()
      }
      let task = Task {
        for await case .report(let report) in signals {
          switch report {
          case .downloads(let updates):
            for update in updates where update.download == self { continuation.yield(update) }
            if updates.contains(where: { $0.download == self && $0.state == .finished }) {
              return continuation.finish()
            }
          case .removed:
            continuation.yield(DownloadUpdate(self))
            return continuation.finish()
          case .transactions, .failure, .restoreEnded: break
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Whether both are the same download of the same transaction.
  public static func == (left: Self, right: Self) -> Bool {
    left.report.id == right.report.id && left.position == right.position
  }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(report.id)
    hasher.combine(position)
  }

  /// The content, its version and the state, with the progress if it is active.
  public var description: String {
    let percent = state == .active ? " (\(Int(progress * 100)) %)" : ""
    return "\(contentIdentifier) \(contentVersion): \(state)\(percent)"
  }
}

/// The phase of an active download.
public enum DownloadPhase: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
  /// Determines what to fetch and what can be reused.
  case preparing
  /// Waits; see `Download.wait` for the reason.
  case waiting
  /// Fetches pieces; each is verified when it arrives, before it is used.
  case downloading
  /// Verifies data of an earlier attempt or version.
  case verifying
  /// Unpacks verified data into files.
  case unpacking
  /// Makes the files durable and visible, and switches `current`.
  case installing
}

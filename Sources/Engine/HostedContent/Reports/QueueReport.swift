public import FoundationEssentials

/// A report of the queue, as a value.
public enum QueueReport: Sendable, CustomStringConvertible {
  /// Transactions were added or changed state; once for each stream, all unfinished ones.
  case transactions([PaymentTransaction])
  /// Downloads changed state or progressed.
  case downloads([DownloadUpdate])
  /// Transactions were removed because they were finished.
  case removed([PaymentTransaction])
  /// A request, a write to the journal, or the cleanup of an earlier run failed.
  case failure(ContentError)
  /// A restore succeeded or failed.
  case restoreEnded(RestoreResult)

  /// The kind of the report and its values.
  public var description: String {
    switch self {
    case .transactions(let transactions): "transactions: \(transactions)"
    case .downloads(let downloads): "downloads: \(downloads)"
    case .removed(let transactions): "removed: \(transactions)"
    case .failure(let error): "failure: \(error)"
    case .restoreEnded(let result): "restore ended: \(result)"
    }
  }
}

/// A snapshot of a download when it was reported; unlike `Download`, it does not change.
public struct DownloadUpdate: Hashable, Sendable, CustomStringConvertible {
  /// The download.
  public let download: Download
  /// The state.
  public let state: DownloadState
  /// The progress, from 0 to 1.
  public let progress: Double
  /// The estimated remaining time; nil if unknown.
  public let timeRemaining: Duration?
  /// The version's folder; nil unless finished.
  public let contentURL: URL?
  /// The error of a failed download; nil in other states.
  public let error: ContentError?

  init(_ download: Download) {
    self.download = download
    state = download.state
    progress = download.progress
    timeRemaining = download.timeRemaining
    contentURL = download.contentURL
    error = download.error
  }

  /// The content, its version and the reported state, with the progress or the error.
  public var description: String {
    let details =
      switch state {
      case .active: " (\(Int(progress * 100)) %)"
      case .failed: error.map { " (\($0))" } ?? ""
      case .waiting, .paused, .finished, .cancelled: ""
      }
    return "\(download.contentIdentifier) \(download.contentVersion): \(state)\(details)"
  }
}

/// An element of the module's internal streams.
enum StreamSignal: Sendable {
  case report(QueueReport)
  /// The request has taken effect: later reports are results of it.
  case begun
}

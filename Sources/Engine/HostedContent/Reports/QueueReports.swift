public import ContentModel
public import FoundationEssentials
import Concurrency

/// What observers are told, as a value.
public enum QueueReport: Sendable {
  /// Transactions were added or changed state; with a new stream all that are unfinished.
  case transactions([PaymentTransaction])
  /// Downloads changed state or moved on.
  case downloads([DownloadUpdate])
  /// Transactions are gone because they were finished.
  case removed([PaymentTransaction])
  /// Something that was asked of the queue could not be done.
  case failure(ContentError)
  /// A restore ended, well or not.
  case restoreEnded(RestoreResult)
}

/// How a download stood when it was reported; unlike `Download` it does not change.
public struct DownloadUpdate: Hashable, Sendable {
  /// The download.
  public let download: Download
  /// Where it stood.
  public let state: DownloadState
  /// The part that was done, 0 to 1.
  public let progress: Double
  /// The estimated time until it is finished; nil while it is unknown.
  public let timeRemaining: Duration?
  /// The version's folder; only when finished.
  public let contentURL: URL?
  /// Why it failed; only when failed.
  public let error: ContentError?

  init(_ download: Download) {
    self.download = download
    state = download.state
    progress = download.progress
    timeRemaining = download.timeRemaining
    contentURL = download.contentURL
    error = download.error
  }
}

extension PaymentQueue {
  /// Returns a new stream of all reports from now on; the first one has the unfinished transactions.
  ///
  /// A stream counts as an observer: the first one starts the queue. It ends when its task is
  /// cancelled or the queue is closed. Reports are buffered without limit until they are read.
  public func reports() -> AsyncStream<QueueReport> {
    AsyncStream { continuation in
      let observer = StreamObserver(continuation)
      continuation.onTermination = { [weak delivery] _ in delivery?.remove(observer) }
      guard let isFirst = delivery.add(observer) else { return continuation.finish() }
      if isFirst { launch() }
    }
  }

  /// The reports about one transaction or restore from now on, and who else may add to the stream.
  func signals(about id: String) -> (stream: AsyncStream<StreamSignal>, sender: ReportRouter.Sender)
  {
    let signals = delivery.router.signals(about: id)
    if delivery.beginObserving() { launch() }
    return signals
  }

  /// The first thing that `transform` finds in the reports about `id`.
  ///
  /// `begin` is called once the reports are observed; what it returns is not waited for. Throws
  /// `CancellationError` when there are no more.
  func first<Value>(
    about id: String, begin: () async throws -> Value?,
    _ transform: (QueueReport) throws -> Value?
  ) async throws -> Value {
    let signals = signals(about: id).stream
    if let value = try await begin() { return value }
    for await case .report(let report) in signals {
      if let value = try transform(report) { return value }
    }
    throw CancellationError()
  }
}

/// What a stream within the module gets.
enum StreamSignal: Sendable {
  case report(QueueReport)
  /// What is reported from here on comes after what was asked for.
  case begun
}

/// Turns an observer's calls into a stream's elements.
final class StreamObserver: PaymentTransactionObserver {
  private let continuation: AsyncStream<QueueReport>.Continuation

  init(_ continuation: AsyncStream<QueueReport>.Continuation) { self.continuation = continuation }

  func finish() { continuation.finish() }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    continuation.yield(.transactions(transactions))
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    continuation.yield(.removed(transactions))
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    continuation.yield(.downloads(downloads.map(DownloadUpdate.init)))
  }

  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    continuation.yield(.failure(error))
  }

  func paymentQueue(_ queue: PaymentQueue, restoreEndedWith result: RestoreResult) {
    continuation.yield(.restoreEnded(result))
  }
}

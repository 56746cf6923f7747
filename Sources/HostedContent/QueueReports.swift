public import ContentModel
public import FoundationEssentials
import Locks

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
  /// Seconds until it is done; `Download.unknownTimeRemaining` while that is unknown.
  public let timeRemaining: Double
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
  /// Everything that is reported from now on, beginning with what is unfinished.
  ///
  /// A stream is an observer like any other: the first one starts the queue. It ends when its task
  /// is cancelled or the queue is closed. Reports that nobody takes are kept.
  public var reports: AsyncStream<QueueReport> {
    AsyncStream { continuation in
      observe(continuation) { if case .report(let report) = $0 { continuation.yield(report) } }
    }
  }

  /// The reports, after `begin` was called with the observer that takes them.
  private func signals(_ begin: (StreamObserver) -> Void) -> AsyncStream<StreamSignal> {
    AsyncStream { continuation in begin(observe(continuation) { continuation.yield($0) }) }
  }

  /// The reports; downloads are started, and `.begun` is where reports of their start begin.
  func signals(starting downloads: [Download]) -> AsyncStream<StreamSignal> {
    signals { observer in start(downloads) { observer.tell(.begun) } }
  }

  @discardableResult
  private func observe<Element>(
    _ continuation: AsyncStream<Element>.Continuation,
    _ tell: @escaping @Sendable (StreamSignal) -> Void
  ) -> StreamObserver {
    let observer = StreamObserver(tell: tell, end: { continuation.finish() })
    continuation.onTermination = { [weak self] _ in self?.end(observer) }
    begin(observer)
    return observer
  }

  /// The first thing that `transform` finds in the reports.
  ///
  /// `begin` is called once the reports are observed; what it returns is not waited for. Throws
  /// `CancellationError` when there are no more.
  func first<Value>(
    begin: () async throws -> Value? = { nil }, _ transform: (QueueReport) throws -> Value?
  ) async throws -> Value {
    let reports = reports
    if let value = try await begin() { return value }
    for await report in reports {
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
  let tell: @Sendable (StreamSignal) -> Void
  private let end: @Sendable () -> Void

  init(tell: @escaping @Sendable (StreamSignal) -> Void, end: @escaping @Sendable () -> Void) {
    self.tell = tell
    self.end = end
  }

  func finish() { end() }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    tell(.report(.transactions(transactions)))
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    tell(.report(.removed(transactions)))
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    tell(.report(.downloads(downloads.map(DownloadUpdate.init))))
  }

  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    tell(.report(.failure(error)))
  }

  func paymentQueue(_ queue: PaymentQueue, restoreEndedWith result: RestoreResult) {
    tell(.report(.restoreEnded(result)))
  }
}

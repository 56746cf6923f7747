import ContentModel
import Concurrency

/// Passes each report only to the calls that wait for its transaction or restore.
///
/// So the cost of many concurrent calls is linear, not quadratic.
final class ReportRouter: PaymentTransactionObserver {
  typealias Sender = AsyncStream<StreamSignal>.Continuation

  private let state = Mutex(State())

  private struct State {
    /// Waiting calls, by identifier of the transaction or restore, then by number.
    var waiters: [String: [Int: Sender]] = [:]
    var nextNumber = 0
    var isClosed = false
  }

  /// Returns the reports about `id` from now on; ends at once if the queue is closed.
  func signals(about id: String) -> (stream: AsyncStream<StreamSignal>, sender: Sender) {
    let (stream, sender) = AsyncStream.makeStream(of: StreamSignal.self)
    let number: Int? = state.withLock { state in
      guard !state.isClosed else { return nil }
      defer { state.nextNumber += 1 }
      state.waiters[id, default: [:]][state.nextNumber] = sender
      return state.nextNumber
    }
    guard let number else {
      sender.finish()
      return (stream, sender)
    }
    sender.onTermination = { [weak self] _ in self?.remove(number, id) }
    return (stream, sender)
  }

  private func remove(_ number: Int, _ id: String) {
    state.withLock { state in
      state.waiters[id]?[number] = nil
      if state.waiters[id]?.isEmpty == true { state.waiters[id] = nil }
    }
  }

  /// Whether any call waits.
  var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty } }

  /// Refuses further calls.
  func close() { state.withLock { $0.isClosed = true } }

  /// Ends the streams of all waiting calls.
  func finish() {
    let waiters = state.withLock { state in
      defer { state.waiters = [:] }
      return state.waiters.values.flatMap(\.values)
    }
    for waiter in waiters { waiter.finish() }
  }

  private func send(_ report: QueueReport, to id: String) {
    let waiters = state.withLock { state in state.waiters[id].map { Array($0.values) } ?? [] }
    for waiter in waiters { waiter.yield(.report(report)) }
  }

  /// Returns whether a call waits for `id`.
  private func isAwaited(_ id: String) -> Bool { state.withLock { $0.waiters[id] != nil } }

  // MARK: PaymentTransactionObserver

  func paymentQueue(_ _: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]) {
    for transaction in transactions {
      send(.transactions([transaction]), to: transaction.report.id)
    }
  }

  func paymentQueue(_ _: PaymentQueue, removedTransactions transactions: [PaymentTransaction]) {
    for transaction in transactions { send(.removed([transaction]), to: transaction.report.id) }
  }

  func paymentQueue(_ _: PaymentQueue, updatedDownloads downloads: [Download]) {
    for download in downloads where isAwaited(download.report.id) {
      send(.downloads([DownloadUpdate(download)]), to: download.report.id)
    }
  }

  func paymentQueue(_ _: PaymentQueue, didFailWith error: ContentError) {
    if let subject = error.subject { send(.failure(error), to: subject) }
  }

  func paymentQueue(_ _: PaymentQueue, restoreEndedWith result: RestoreResult) {
    send(.restoreEnded(result), to: result.identifier.rawValue)
  }
}

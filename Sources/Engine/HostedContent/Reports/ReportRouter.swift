import HostedModel
import HostedConcurrency

/// Passes each report only to the calls that wait for its transaction or restore.
///
/// So the cost of many concurrent calls is linear, not quadratic.
final class ReportRouter: Sendable {
  typealias Sender = AsyncStream<StreamSignal>.Continuation

  private let state = Mutex(State())

  private struct State {
    /// Waiting calls, by the text of the transaction or restore, which errors have as subject.
    var waiters: [String: Set<Sender>] = [:]
    var isClosed = false
  }

  /// Returns the reports about `id` from now on; ends at once if the queue is closed.
  func signals(about id: some QueueIdentifier) -> (
    stream: AsyncStream<StreamSignal>, sender: Sender
  ) {
    let id = id.rawValue
    let (stream, sender) = AsyncStream.makeStream(of: StreamSignal.self)
    sender.onTermination = { [weak self] _ in self?.remove(sender, id) }
    let isOpen = state.withLock { state in
      if !state.isClosed { state.waiters[id, default: []].insert(sender) }
      return !state.isClosed
    }
    if !isOpen { sender.finish() }
    return (stream, sender)
  }

  private func remove(_ sender: Sender, _ id: String) {
    state.withLock { state in
      state.waiters[id]?.remove(sender)
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
      return state.waiters.values
    }
    for waiter in waiters.joined() { waiter.finish() }
  }

  /// Returns whether a call waits for `id`.
  func isAwaited(_ id: TransactionID) -> Bool {
    state.withLock { $0.waiters[id.rawValue] != nil }
  }

  /// Passes a report on, divided by transaction.
  func send(_ report: QueueReport) {
    switch report {
    case .transactions(let transactions):
      for transaction in transactions {
        send(.transactions([transaction]), to: transaction.report.id.rawValue)
      }
    case .removed(let transactions):
      for transaction in transactions {
        send(.removed([transaction]), to: transaction.report.id.rawValue)
      }
    case .downloads(let updates):
      for update in updates { send(.downloads([update]), to: update.download.report.id.rawValue) }
    case .failure(let error):
      if let subject = error.subject { send(report, to: subject) }
    case .restoreEnded(let result): send(report, to: result.identifier.rawValue)
    }
  }

  private func send(_ report: QueueReport, to id: String) {
    for waiter in state.withLock({ $0.waiters[id] }) ?? [] { waiter.yield(.report(report)) }
  }
}

import HostedModel
import Dispatch
import HostedContent
import HostedConcurrency

/// Completes transactions: starts their downloads and finishes them after the installation.
///
/// It is an ordinary observer. The transaction of a failed download stays open, so that the next
/// run continues it.
final class TransactionDriver: PaymentTransactionObserver {
  private let queue: PaymentQueue
  /// The queue of the callbacks.
  ///
  /// Decisions about transactions are only made here, one at a time.
  private let callbacks: DispatchQueue
  private let progress: ProgressLines
  private let watchdog: Watchdog
  private let state = Mutex(State())

  private struct State {
    var works: [TransactionID: Work] = [:]
    /// Failures of transactions that nothing waited for when they came.
    var refusals: [TransactionID: ContentError] = [:]
    /// Set once the command must stop: after an interrupt or a timeout.
    var abort: ContentError?
  }

  private struct Work {
    let waiter: CheckedContinuation<ContentError?, Never>
    /// Nil until a new transaction was reported.
    var transaction: PaymentTransaction?
    var isStarted = false
    /// Whether the download was seen in progress; earlier reports are from an earlier run.
    var hasMoved = false
  }

  init(
    _ queue: PaymentQueue, callbacks: DispatchQueue, _ progress: ProgressLines, _ watchdog: Watchdog
  ) {
    self.queue = queue
    self.callbacks = callbacks
    self.progress = progress
    self.watchdog = watchdog
  }

  /// The reason why the command must stop; nil if it can continue.
  var abortReason: ContentError? { state.withLock { $0.abort } }

  /// Waits until `transaction` is finished; returns the error if it fails.
  func end(of transaction: TransactionID, known: PaymentTransaction? = nil) async -> ContentError? {
    await withCheckedContinuation { continuation in
      let abort = state.withLock { state in
        if state.abort == nil {
          state.works[transaction] = Work(waiter: continuation, transaction: known)
        }
        return state.abort
      }
      if let abort { return continuation.resume(returning: abort) }
      // Check again what was reported before the transaction was registered, between callbacks.
      callbacks.async { self.recheck(at: transaction) }
    }
  }

  private func recheck(at transaction: TransactionID) {
    if let known = queue.transaction(transaction) { return proceed(known) }
    let (isGone, failure) = state.withLock { state in
      let isKnown = state.works[transaction]?.transaction != nil
      // A known transaction that is missing has ended. Earlier failures of it do not matter.
      return (isKnown, isKnown ? nil : state.refusals[transaction])
    }
    if isGone || failure != nil { end(transaction, failure) }
  }

  private func end(_ transaction: TransactionID, _ error: ContentError?) {
    let work = state.withLock { $0.works.removeValue(forKey: transaction) }
    work?.waiter.resume(returning: error)
  }

  /// Ends all current and later waits with `error`.
  func abort(with error: ContentError) {
    let works = state.withLock { state in
      state.abort = state.abort ?? error
      defer { state.works = [:] }
      return state.works.values
    }
    works.forEach { $0.waiter.resume(returning: error) }
  }

  /// Whether `download` is ours and its state is from this run, not from an earlier one.
  private func hasBegun(_ download: Download) -> Bool {
    guard let work = state.withLock({ $0.works[download.transaction.id] }) else { return false }
    return switch download.state {
    case .waiting, .active, .finished: true
    case .paused, .failed, .cancelled: work.hasMoved
    }
  }

  // MARK: PaymentTransactionObserver

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    watchdog.feed()
    for transaction in transactions { proceed(transaction) }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    watchdog.feed()
    let ours = downloads.filter { hasBegun($0) }
    progress.show(ours)
    for transaction in Set(downloads.map(\.transaction)) { proceed(transaction) }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    watchdog.feed()
    for transaction in transactions { end(transaction.id, nil) }
  }

  /// Handles a failure whose subject is a transaction.
  ///
  /// An update that could not be recorded may fail before something waits for it.
  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    let ours = state.withLock { state -> TransactionID? in
      guard let subject = error.subject.map(TransactionID.init(rawValue:)) else { return nil }
      if state.works[subject] != nil { return subject }
      state.refusals[subject] = error
      return nil
    }
    if let ours { end(ours, error) } else { progress.report(error) }
  }

  private func proceed(_ transaction: PaymentTransaction) {
    let isOurs = state.withLock { state in
      state.works[transaction.id]?.transaction = transaction
      return state.works[transaction.id] != nil
    }
    guard isOurs else { return }
    switch transaction.transactionState {
    case .purchasing: break
    case .deferred: end(transaction.id, .deferred(transaction.payment.productIdentifier))
    case .failed:
      queue.finishTransaction(transaction)
      end(
        transaction.id, transaction.error ?? .notDelivered(transaction.payment.productIdentifier))
    case .purchased, .restored: proceed(withDownloadsOf: transaction)
    }
  }

  private func proceed(withDownloadsOf transaction: PaymentTransaction) {
    let downloads = transaction.downloads
    if downloads.allSatisfy({ $0.state == .finished }) {
      return queue.finishTransaction(transaction)
    }
    let isMoving = downloads.contains { $0.state == .active || $0.state == .waiting }
    let (mustStart, hasStopped) = state.withLock { state in
      guard let work = state.works[transaction.id] else { return (false, false) }
      state.works[transaction.id]?.isStarted = true
      if isMoving { state.works[transaction.id]?.hasMoved = true }
      return (!work.isStarted, work.hasMoved && !isMoving)
    }
    // Also retries downloads that an earlier run left paused or failed.
    if mustStart { queue.start(downloads) }
    if hasStopped {
      let error = downloads.lazy.compactMap(\.error).first
      end(transaction.id, error ?? .downloadsStopped(transaction.payment.productIdentifier))
    }
  }
}

public import HostedModel
public import FoundationEssentials

/// Async calls for common tasks, without an observer.
///
/// If a call's task is cancelled, the call cancels the downloads that it waits for and throws
/// `CancellationError`; purchases, finishes and restores continue. Once the queue is closed, it
/// throws the same or `stopped`, and downloads keep their data.
extension PaymentQueue {
  /// Buys, downloads, installs and finishes; returns the folders of the installed contents.
  ///
  /// Throws the error of the purchase or of the first download that failed. If a download fails,
  /// its transaction stays open, so call `install` to try again.
  public func deliver(_ payment: Payment) async throws -> [URL] {
    try await complete(purchase(payment))
  }

  /// Installs an update and finishes its transaction; returns the folders of the contents.
  ///
  /// Continues an update to the same version that was started before.
  public func deliver(_ update: ContentUpdate, switching: Bool = true) async throws -> [URL] {
    let begun = transactions.first {
      $0.transactionState == .restored
        && $0.downloads.contains { $0.isOf(update, switching: switching) }
    }
    if let begun { return try await complete(begun) }
    let id = newIdentifier()
    let signals = signals(about: id).stream
    try await add(update, as: id, switching: switching)
    let transaction: PaymentTransaction = try await signals.firstValue { report in
      if case .failure(let error) = report { throw error }
      return report.transaction
    }
    return try await complete(transaction)
  }

  /// Installs and finishes a transaction; returns the folders of its contents.
  private func complete(_ transaction: PaymentTransaction) async throws -> [URL] {
    let folders = try await install(transaction)
    try await finish(transaction)
    return folders
  }

  /// Buys a product; returns the purchased transaction, whose downloads are waiting.
  ///
  /// Throws the error of a failed transaction after finishing it, and `notEntitled` if the purchase
  /// is deferred. Waits as long as the seller does not answer, which is reported to observers.
  /// Cancelling the task does not take the payment back.
  public func purchase(_ payment: Payment) async throws -> PaymentTransaction {
    let id = newIdentifier()
    let signals = signals(about: id).stream
    add(payment, as: id)
    let transaction = try await signals.firstValue { report -> PaymentTransaction? in
      if case .failure(let error) = report, error.code == .transactionExists { throw error }
      guard let transaction = report.transaction else { return nil }
      switch transaction.transactionState {
      case .purchasing: return nil
      case .purchased, .restored, .failed: return transaction
      case .deferred:
        let product = payment.productIdentifier
        throw ContentError(
          .notEntitled, "The purchase of \(product) is waiting for approval",
          remedy: "Wait until its transaction is purchased or failed", subject: product.rawValue)
      }
    }
    guard transaction.transactionState == .failed else { return transaction }
    let error = transaction.error ?? ContentError.notOffered(payment.productIdentifier.rawValue)
    // A process that ends because of this error must not report the transaction again. If it cannot
    // be finished, the next launch reports it.
    try? await finish(transaction)
    throw error
  }

  /// Starts a transaction's downloads and waits for them; returns the installed folders.
  ///
  /// Throws the error of the first download that failed, and `stopped` for one that was cancelled;
  /// the others continue. Waits while a download is paused.
  public func install(_ transaction: PaymentTransaction) async throws -> [URL] {
    let (signals, sender) = signals(about: transaction.report.id)
    // A transaction of an earlier queue does not change anymore.
    let current = delivery.transaction(transaction.report.id)
    var awaited = AwaitedDownloads(of: current ?? transaction)
    guard !awaited.left.isEmpty else { return awaited.folders }
    // Nothing is reported about a removed transaction.
    guard current != nil else { throw awaited.cancelled }
    do {
      start(Array(awaited.left), of: transaction) { sender.yield(.begun) }
      for await signal in signals where try awaited.take(signal) { return awaited.folders }
      throw CancellationError()
    } catch is CancellationError {
      cancel(Array(awaited.left))
      throw CancellationError()
    }
  }

  /// Finishes a transaction and waits until it is removed.
  ///
  /// Returns at once if it is removed already. Throws `cannotFinish` for a `.purchasing` or
  /// `.deferred` one.
  public func finish(_ transaction: PaymentTransaction) async throws {
    let signals = signals(about: transaction.report.id).stream
    guard delivery.transaction(transaction.report.id) != nil else { return }
    finishTransaction(transaction)
    try await signals.firstValue { report -> Void? in
      switch report {
      case .removed: ()
      case .failure(let error): throw error
      case .transactions, .downloads, .restoreEnded: nil
      }
    }
  }

  /// Restores the account's purchases; returns their transactions, whose downloads are waiting.
  ///
  /// Throws the error of the restore; purchases restored before the error stay in the queue. Also
  /// throws `sellerNotResponding` if the seller is late; the restore then continues. Throws
  /// `restoreUnderWay` during another restore.
  public func restore(withApplicationUsername account: AccountID? = nil) async throws
    -> [PaymentTransaction]
  {
    let id = newIdentifier()
    let signals = signals(about: id).stream
    restore(as: id, account: account)
    return try await signals.firstValue { report in
      switch report {
      case .restoreEnded(let result):
        if let error = result.error { throw error }
        return result.transactions
      case .failure(let error): throw error
      case .transactions, .downloads, .removed: return nil
      }
    }
  }
}

extension Download {
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

  /// Whether it downloads `update` with the same `switching`; false for restored purchases.
  fileprivate func isOf(_ update: ContentUpdate, switching: Bool) -> Bool {
    contentIdentifier == update.contentIdentifier && contentVersion == update.offered
      && record.keepsCurrent == !switching
  }
}

extension QueueReport {
  /// The transaction of this report if it was added or changed state.
  fileprivate var transaction: PaymentTransaction? {
    if case .transactions(let transactions) = self { transactions.first } else { nil }
  }
}

/// The downloads of a transaction that are not installed yet.
private struct AwaitedDownloads {
  private let transaction: PaymentTransaction
  private(set) var left: Set<Download>
  /// Whether the downloads were started; an earlier failure is of an earlier attempt.
  private var hasBegun = false

  init(of transaction: PaymentTransaction) {
    self.transaction = transaction
    left = Set(transaction.downloads.filter { $0.state != .finished })
  }

  var folders: [URL] { transaction.downloads.compactMap(\.contentURL) }

  /// The error for the remaining downloads if their transaction is removed.
  var cancelled: any Error {
    left.first.map { ContentError.downloadCancelled($0.contentIdentifier) } ?? CancellationError()
  }

  /// Removes finished downloads; returns whether all are installed.
  ///
  /// Throws the error of a download that failed.
  mutating func take(_ signal: StreamSignal) throws -> Bool {
    switch signal {
    case .begun: hasBegun = true
    case .report(.downloads(let updates)):
      for update in updates where left.contains(update.download) { try take(update) }
    case .report(.removed(let removed)):
      if removed.contains(transaction), !left.isEmpty { throw cancelled }
    case .report(.transactions), .report(.failure), .report(.restoreEnded): break
    }
    return left.isEmpty
  }

  private mutating func take(_ update: DownloadUpdate) throws {
    switch update.state {
    case .finished: left.remove(update.download)
    case .failed:
      if hasBegun, let error = update.error { throw error }
    case .cancelled:
      if hasBegun { throw ContentError.downloadCancelled(update.download.contentIdentifier) }
    case .waiting, .active, .paused: break
    }
  }
}

extension ContentError {
  fileprivate static func downloadCancelled(_ content: ProductIdentifier) -> ContentError {
    ContentError(
      .stopped, "The download of \(content) was cancelled", remedy: "Start the download again",
      subject: content.rawValue)
  }
}

public import ContentModel
public import FoundationEssentials

/// The common path without an observer of one's own; sugar over the same reports.
///
/// A call's task may be cancelled: what it started is cancelled with it, and it throws
/// `CancellationError`.
extension PaymentQueue {
  /// Buys, downloads, installs and finishes; returns the folders of what is installed.
  ///
  /// Throws the error of the purchase or of the first download that failed; the transaction of a
  /// failed download stays open, so that `install` may try again.
  public func deliver(_ payment: Payment) async throws -> [URL] {
    let transaction = try await purchase(payment)
    let folders = try await install(transaction)
    try await finish(transaction)
    return folders
  }

  /// Brings an update in and finishes its transaction; returns the folders of what is installed.
  ///
  /// Goes on with an update of the same version that was begun before.
  public func deliver(_ update: ContentUpdate, switching: Bool = true) async throws -> [URL] {
    let begun = transactions.first {
      $0.transactionState == .restored
        && $0.downloads.contains { $0.isOf(update, switching: switching) }
    }
    let transaction: PaymentTransaction
    if let begun {
      transaction = begun
    } else {
      let id = try await add(update, switching: switching)
      transaction = try await first { report in
        if case .failure(let error) = report, error.subject == id { throw error }
        return report.transaction(id)
      }
    }
    let folders = try await install(transaction)
    try await finish(transaction)
    return folders
  }

  /// Buys; returns the purchased transaction, whose downloads wait to be started.
  ///
  /// Throws the transaction's error when it failed, which is then finished, and `notEntitled` when
  /// somebody else decides later. Cancelling does not take a payment back.
  public func purchase(_ payment: Payment) async throws -> PaymentTransaction {
    var id = ""
    let begin = { () -> PaymentTransaction? in
      id = self.add(payment)
      return nil
    }
    return try await first(begin: begin) { report in
      guard let transaction = report.transaction(id) else { return nil }
      switch transaction.transactionState {
      case .purchasing: return nil
      case .purchased, .restored: return transaction
      case .deferred: throw ContentError.waitsForDecision(payment.productIdentifier)
      case .failed:
        finishTransaction(transaction)
        throw transaction.error ?? ContentError.notOffered(payment.productIdentifier.rawValue)
      }
    }
  }

  /// Starts a transaction's downloads and waits until all are installed; returns their folders.
  ///
  /// Throws the error of the first that failed; the others go on.
  public func install(_ transaction: PaymentTransaction) async throws -> [URL] {
    let downloads = transaction.downloads
    guard !downloads.isEmpty else { return [] }
    var awaited = AwaitedDownloads(downloads.filter { $0.state != .finished })
    if !awaited.left.isEmpty {
      do {
        let begin = { () throws -> Void? in
          // Of one that is gone nothing is reported any more.
          guard self.isUnfinished(transaction) else { throw awaited.cancelled }
          self.start(Array(awaited.left))
          return nil
        }
        try await first(begin: begin) { report -> Void? in
          try awaited.take(report, of: transaction)
          return awaited.left.isEmpty ? () : nil
        }
      } catch is CancellationError {
        cancel(Array(awaited.left))
        throw CancellationError()
      }
    }
    return downloads.compactMap(\.contentURL)
  }

  /// Finishes a transaction and waits until it is gone for good; one that is gone already is fine.
  public func finish(_ transaction: PaymentTransaction) async throws {
    let begin = { () -> Void? in
      guard self.isUnfinished(transaction) else { return () }
      self.finishTransaction(transaction)
      return nil
    }
    try await first(begin: begin) { report -> Void? in
      switch report {
      case .removed(let removed): removed.contains(transaction) ? () : nil
      case .failure(let error) where error.subject == transaction.id: throw error
      case .failure, .transactions, .downloads, .restoreEnded: nil
      }
    }
  }

  /// Restores the account's purchases; returns their transactions, whose downloads wait.
  ///
  /// Throws the restore's error; what was restored before it stays in the queue.
  public func restore(withApplicationUsername account: String? = nil) async throws
    -> [PaymentTransaction]
  {
    let before = Set(transactions)
    var restored: [PaymentTransaction] = []
    let begin = { () -> [PaymentTransaction]? in
      self.restoreCompletedTransactions(withApplicationUsername: account)
      return nil
    }
    return try await first(begin: begin) { report in
      switch report {
      case .transactions(let transactions):
        restored += transactions.filter {
          $0.isOfHistory && !before.contains($0) && !restored.contains($0)
        }
        return nil
      case .restoreEnded(let error?): throw error
      case .restoreEnded(nil): return restored
      case .failure(let error) where error.code == .restoreUnderWay: throw error
      case .failure, .downloads, .removed: return nil
      }
    }
  }

  /// Whether the end of `transaction` is still to be reported to those who observe by now.
  fileprivate func isUnfinished(_ transaction: PaymentTransaction) -> Bool {
    delivery.isUnfinished(transaction)
  }
}

extension PaymentTransaction {
  /// Whether a restore brought it, rather than an update, which says what becomes of `current`.
  fileprivate var isOfHistory: Bool {
    transactionState == .restored && downloads.allSatisfy { $0.record.keepsCurrent == nil }
  }
}

extension Download {
  /// Every report of this download from now on, beginning with how it stands; ends once it is
  /// finished or its transaction is gone.
  public var updates: AsyncStream<DownloadUpdate> {
    let queue = report.library.queue
    var reports = queue?.reports ?? AsyncStream { $0.finish() }
    // Of one that is gone nothing is reported any more.
    if queue?.isUnfinished(transaction) != true { reports = AsyncStream { $0.finish() } }
    return AsyncStream(bufferingPolicy: .bufferingNewest(32)) { continuation in
      continuation.yield(DownloadUpdate(self))
      let task = Task { [reports] in
        for await report in reports {
          switch report {
          case .downloads(let updates):
            for update in updates where update.download == self { continuation.yield(update) }
            if updates.contains(where: { $0.download == self && $0.state == .finished }) {
              return continuation.finish()
            }
          case .removed(let transactions):
            if transactions.contains(self.transaction) {
              continuation.yield(DownloadUpdate(self))
              return continuation.finish()
            }
          case .transactions, .failure, .restoreEnded: break
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Whether it brings `update` in, as it is asked for now; a restored purchase's does not.
  fileprivate func isOf(_ update: ContentUpdate, switching: Bool) -> Bool {
    contentIdentifier == update.contentIdentifier && contentVersion == update.offered
      && record.keepsCurrent == !switching
  }
}

extension QueueReport {
  /// The transaction `id`, if this reports it.
  fileprivate func transaction(_ id: String) -> PaymentTransaction? {
    if case .transactions(let transactions) = self {
      transactions.first { $0.id == id }
    } else {
      nil
    }
  }
}

/// Downloads whose end is waited for.
private struct AwaitedDownloads {
  private(set) var left: Set<Download>
  /// Those that were seen on their way; a failure that is reported before is of an earlier attempt.
  private var moved: Set<Download> = []

  init(_ downloads: [Download]) { left = Set(downloads) }

  /// What those that are left end with when their transaction goes.
  var cancelled: any Error {
    left.first.map { ContentError.downloadCancelled($0.contentIdentifier) } ?? CancellationError()
  }

  /// Takes out what is finished; throws what one of them failed with.
  mutating func take(_ report: QueueReport, of transaction: PaymentTransaction) throws {
    switch report {
    case .downloads(let updates):
      for update in updates where left.contains(update.download) { try take(update) }
    case .removed(let removed):
      if removed.contains(transaction), !left.isEmpty { throw cancelled }
    case .transactions, .failure, .restoreEnded: break
    }
  }

  private mutating func take(_ update: DownloadUpdate) throws {
    switch update.state {
    case .finished: left.remove(update.download)
    case .waiting, .active: moved.insert(update.download)
    case .failed:
      if moved.contains(update.download), let error = update.error { throw error }
    case .cancelled:
      if moved.contains(update.download) {
        throw ContentError.downloadCancelled(update.download.contentIdentifier)
      }
    case .paused: break
    }
  }
}

extension ContentError {
  fileprivate static func waitsForDecision(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .notEntitled, "The purchase of \(product) waits for somebody's decision",
      remedy: "Its transaction is reported once it was decided", subject: product.rawValue)
  }

  fileprivate static func downloadCancelled(_ content: ProductIdentifier) -> ContentError {
    ContentError(
      .stopped, "The download of \(content) was cancelled", remedy: "Start it again",
      subject: content.rawValue)
  }
}

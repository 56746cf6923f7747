import HostedModel
import HostedContent

/// An observer that acts as the schedule determines, and checks the reports.
// Sendable, because only the scheduled thread uses it.
final class SimulatedObserver: PaymentTransactionObserver, @unchecked Sendable {
  private unowned let world: World
  private unowned let service: SimulatedService
  let number: Int
  /// Whether it starts and finishes as the documentation recommends.
  let isDiligent: Bool
  /// It acts on its own in one of this many calls.
  ///
  /// 0 means never.
  private let whim: Int

  private(set) var reported: Set<TransactionID> = []
  private(set) var removed: Set<TransactionID> = []
  private var states: [String: DownloadState] = [:]
  private var isInCall = false
  private var isQueueClosed = false
  /// Whether it has observed since the start of the process.
  private(set) var isLasting: Bool

  init(
    _ world: World, _ service: SimulatedService, number: Int, isDiligent: Bool, whim: Int,
    isLasting: Bool
  ) {
    self.world = world
    self.service = service
    self.number = number
    self.isDiligent = isDiligent
    self.whim = whim
    self.isLasting = isLasting
  }

  /// Starts again after a time without reports.
  func beginAgain() {
    isLasting = false
    states = [:]
  }

  /// Records that the queue is closed.
  ///
  /// No report may follow.
  func queueIsClosed() { isQueueClosed = true }

  /// Handles a call.
  ///
  /// Does nothing if the process has ended.
  private func call(_ name: String, _ body: () -> Void) {
    guard world.step("observer \(number): \(name)") else { return }
    if isInCall { world.violate("a callback within another callback", name) }
    if isQueueClosed { world.violate("a callback after the queue was closed", name) }
    isInCall = true
    body()
    isInCall = false
  }

  // MARK: Reports

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    call("\(transactions.count) transactions") {
      for transaction in transactions {
        check(transaction)
        if world.scheduler.isDead { return }
        deliver(transaction, queue)
        act(on: transaction, queue)
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    call("\(downloads.count) downloads") {
      for download in downloads {
        check(download)
        if world.scheduler.isDead { return }
        if isDiligent { tend(download, queue) }
        act(on: download.transaction, queue)
      }
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    call("\(transactions.count) removed") {
      for transaction in transactions {
        if !removed.insert(transaction.id).inserted {
          world.violate("a removal is reported twice", transaction.id.rawValue)
        }
        if world.journal.tables.finished[transaction.id] == nil,
          world.journal.tables.transactions[transaction.id] != nil
        {
          world.violate("a removal is reported before it is journaled", transaction.id.rawValue)
        }
        act(on: nil, queue)
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    call("an error") { world.check(error) }
  }

  func paymentQueue(_ queue: PaymentQueue, restoreEndedWith result: RestoreResult) {
    call("a restore ended") {
      service.restoreEnded(result)
      act(on: nil, queue)
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool {
    world.step("observer \(number): promoted") && world.choices.pick(.action, 2) == 1
  }

  // MARK: Checks

  private func check(_ transaction: PaymentTransaction) {
    reported.insert(transaction.id)
    if removed.contains(transaction.id) {
      world.violate("a removed transaction is reported", transaction.id.rawValue)
    }
    switch transaction.transactionState {
    case .purchased, .restored:
      let tables = world.journal.tables
      if tables.transactions[transaction.id] == nil,
        tables.finished[transaction.id] == nil
      {
        world.violate("a purchase is reported before it is journaled", transaction.id.rawValue)
      }
      if world.failed.contains(transaction.id) {
        world.violate("a failed purchase succeeds later", transaction.id.rawValue)
      }
    case .failed:
      world.failed.insert(transaction.id)
      if let error = transaction.error {
        world.check(error)
      } else {
        world.violate("a failure has no error", transaction.id.rawValue)
      }
    case .purchasing, .deferred: break
    }
  }

  private func check(_ download: Download) {
    let (id, state) = (download.id.rawValue, download.state)
    let old = states[id]
    if removed.contains(download.transaction.id) {
      world.violate("a download of a removed transaction is reported", id)
    }
    if let old, old != state, !Self.next[old, default: []].contains(state) {
      world.violate("a download's reports are out of order", "\(id): \(old), then \(state)")
    }
    states[id] = state
    if !(0...1).contains(download.progress) {
      world.violate("progress is outside of 0 to 1", "\(id): \(download.progress)")
    }
    switch state {
    case .finished: world.didFinish(download)
    case .failed:
      if let error = download.error {
        world.check(error)
        if old == .active, world.isHealing {
          world.violate("a download fails without a fault", "\(id): \(error)")
        }
      } else {
        world.violate("a failure has no error", id)
      }
    case .waiting, .active, .paused, .cancelled: break
    }
  }

  /// The possible states after a state, as in Documentation/StateMachine.md.
  private static let next: [DownloadState: Set<DownloadState>] = [
    .waiting: [.active, .paused, .cancelled, .finished],
    .active: [.finished, .failed, .paused, .cancelled, .waiting],
    .paused: [.waiting, .active, .finished, .cancelled],
    .failed: [.waiting, .active, .cancelled, .finished],
    .cancelled: [.waiting, .active, .finished],
    .finished: [],
  ]

  // MARK: Actions

  /// Acts as the documentation recommends: starts and finishes downloads of a purchase.
  private func deliver(_ transaction: PaymentTransaction, _ queue: PaymentQueue) {
    guard isDiligent else { return }
    switch transaction.transactionState {
    case .purchased, .restored:
      if transaction.downloads.allSatisfy({ $0.state == .finished }) {
        queue.finishTransaction(transaction)
      } else {
        queue.start(transaction.downloads)
      }
    case .failed: queue.finishTransaction(transaction)
    case .purchasing, .deferred: break
    }
  }

  private func tend(_ download: Download, _ queue: PaymentQueue) {
    switch download.state {
    case .finished:
      if download.transaction.downloads.allSatisfy({ $0.state == .finished }) {
        queue.finishTransaction(download.transaction)
      }
    case .waiting, .paused, .failed, .cancelled:
      if world.isHealing { queue.start([download]) }
    case .active: break
    }
  }

  /// Performs any action, since an observer may do anything.
  private func act(on transaction: PaymentTransaction?, _ queue: PaymentQueue) {
    guard !world.isHealing, world.choices.happens(.action, oneIn: whim) else { return }
    service.doAnything(on: transaction, queue, from: self)
  }
}

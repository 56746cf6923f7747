import ContentModel
import Dispatch
import Locks

/// Asks the store service, one order after the other as they came, and listens to its events.
///
/// Purchases that wait together are asked for together where the service has a way for that.
final class Seller: Sendable {
  private let service: any StoreService
  private let surroundings: Surroundings
  /// Something was put into `orders`.
  private let news: AsyncStream<Void>.Continuation
  /// Tasks in progress.
  private let running: ActivityGate
  private let state = Mutex(State())

  private struct State {
    var orders: [Order] = []
    var onAnswer: (@Sendable (QueueEvent) -> Void)?
    var tasks: [Task<Void, Never>] = []
  }

  private enum Order: Sendable {
    case purchase(PurchaseOrder)
    case restore(request: String, account: String?)
  }

  /// Purchases that are asked for together at most, so that the first answer does not wait long.
  private static let groupLimit = 64

  init(_ service: any StoreService, _ surroundings: Surroundings = Surroundings()) {
    self.service = service
    self.surroundings = surroundings
    running = ActivityGate(surroundings.execution.signal)
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    news = continuation
    run { [weak self] in
      for await _ in stream { await self?.carryOutOrders() }
    }
  }

  deinit { stop() }

  /// Where answers go; set before the first order.
  var onAnswer: (@Sendable (QueueEvent) -> Void)? {
    get { state.withLock { $0.onAnswer } }
    set { state.withLock { $0.onAnswer = newValue } }
  }

  func purchase(_ payment: Payment, transaction: String) {
    take(.purchase(PurchaseOrder(payment: payment, transaction: transaction)))
  }

  func restore(request: String, account: String?) {
    take(.restore(request: request, account: account))
  }

  private func take(_ order: Order) {
    state.withLock { $0.orders.append(order) }
    news.yield()
  }

  /// Hands the service's events to `body` until the seller is closed.
  func listen(_ body: @escaping @Sendable (StoreEvent) async -> Void) {
    let events = service.events()
    run { for await event in events { await body(event) } }
  }

  /// Runs `body` in a task that ends with the seller.
  func run(_ body: @escaping @Sendable () async -> Void) {
    guard running.begin() else { return }
    let task = Task(executorPreference: surroundings.execution.tasks) { [running] in
      await body()
      running.end()
    }
    state.withLock { $0.tasks.append(task) }
    if running.isClosed { task.cancel() }
  }

  /// Takes no more and cancels what is under way, which is asked again at the next launch.
  func stop() {
    running.close()
    news.finish()
    let tasks = state.withLock { state in
      state.onAnswer = nil
      state.orders = []
      defer { state.tasks = [] }
      return state.tasks
    }
    tasks.forEach { $0.cancel() }
  }

  /// Waits until the service has noticed that its calls were cancelled, at most until `deadline`.
  ///
  /// Within a task it does not wait, because it would hold a thread that the service may need for that.
  func wait(until deadline: DispatchTime) {
    if withUnsafeCurrentTask(body: { $0 == nil }) { running.wait(until: deadline) }
  }

  private func carryOutOrders() async {
    while true {
      let purchases = takePurchases()
      if !purchases.isEmpty {
        await sell(purchases)
      } else if let (request, account) = takeRestore() {
        await restore(request, account)
      } else {
        return
      }
    }
  }

  /// The purchases that come before anything else, as many as are asked for together.
  private func takePurchases() -> [PurchaseOrder] {
    let limit = service is any GroupStoreService ? Self.groupLimit : 1
    return state.withLock { state in
      var purchases: [PurchaseOrder] = []
      for order in state.orders.prefix(limit) {
        guard case .purchase(let order) = order else { break }
        purchases.append(order)
      }
      state.orders.removeFirst(purchases.count)
      return purchases
    }
  }

  private func takeRestore() -> (request: String, account: String?)? {
    state.withLock { state in
      guard case .restore(let request, let account) = state.orders.first else { return nil }
      state.orders.removeFirst()
      return (request, account)
    }
  }

  private func sell(_ orders: [PurchaseOrder]) async {
    for (order, outcome) in zip(orders, await service.outcomes(of: orders)) {
      onAnswer?(.purchaseAnswered(transaction: order.transaction, outcome))
    }
  }

  private func restore(_ request: String, _ account: String?) async {
    do {
      for try await purchase in service.restore(account: account) {
        onAnswer?(
          .restored(
            transaction: surroundings.newIdentifier(), original: purchase.original,
            contents: purchase.contents, purpose: .history))
      }
      onAnswer?(.restoreEnded(request: request, nil))
    } catch {
      let error = ContentError(error, while: "restoring purchases")
      onAnswer?(.restoreEnded(request: request, error))
    }
  }
}

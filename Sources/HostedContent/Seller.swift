import ContentModel
import Locks

/// Asks the store service, one order after the other as they came, and listens to its events.
final class Seller: Sendable {
  private let service: any StoreService
  private let surroundings: Surroundings
  private let orders: AsyncStream<Order>.Continuation
  private let state = Mutex(State())

  private struct State {
    var onAnswer: (@Sendable (QueueEvent) -> Void)?
    var tasks: [Task<Void, Never>] = []
  }

  private enum Order: Sendable {
    case purchase(Payment, transaction: String)
    case restore(request: String, account: String?)
  }

  init(_ service: any StoreService, _ surroundings: Surroundings = Surroundings()) {
    self.service = service
    self.surroundings = surroundings
    let (stream, continuation) = AsyncStream.makeStream(of: Order.self)
    orders = continuation
    let task = Task(executorPreference: surroundings.execution.tasks) { [weak self] in
      for await order in stream { await self?.carryOut(order) }
    }
    state.withLock { $0.tasks.append(task) }
  }

  deinit { close() }

  /// Where answers go; set before the first order.
  var onAnswer: (@Sendable (QueueEvent) -> Void)? {
    get { state.withLock { $0.onAnswer } }
    set { state.withLock { $0.onAnswer = newValue } }
  }

  func purchase(_ payment: Payment, transaction: String) {
    orders.yield(.purchase(payment, transaction: transaction))
  }

  func restore(request: String, account: String?) {
    orders.yield(.restore(request: request, account: account))
  }

  /// Hands the service's events to `body` until the seller is closed.
  func listen(_ body: @escaping @Sendable (StoreEvent) async -> Void) {
    let events = service.events()
    let task = Task(executorPreference: surroundings.execution.tasks) {
      for await event in events { await body(event) }
    }
    state.withLock { $0.tasks.append(task) }
  }

  /// Takes no more; a purchase that is under way is asked again at the next launch.
  func close() {
    orders.finish()
    let tasks = state.withLock { state in
      state.onAnswer = nil
      defer { state.tasks = [] }
      return state.tasks
    }
    tasks.forEach { $0.cancel() }
  }

  private func carryOut(_ order: Order) async {
    // A closed stream still hands out what was in it; nobody waits for the answers any more.
    guard onAnswer != nil else { return }
    switch order {
    case .purchase(let payment, let transaction): await sell(payment, transaction)
    case .restore(let request, let account): await restore(request, account)
    }
  }

  private func sell(_ payment: Payment, _ transaction: String) async {
    let outcome: PurchaseOutcome
    do {
      outcome = try await service.purchase(payment, transaction: transaction)
    } catch {
      let product = payment.productIdentifier.rawValue
      outcome = .failed(ContentError(error, while: "buying \(product)").about(product))
    }
    onAnswer?(.purchaseAnswered(transaction: transaction, outcome))
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

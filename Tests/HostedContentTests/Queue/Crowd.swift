import HostedModel
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import Testing

/// Threads that make random requests and add observers.
final class Crowd: Sendable {
  private let queue: PaymentQueue
  private let products: [ProductIdentifier]
  private let state: Mutex<(left: Int, paid: [TransactionID])>

  /// Buys each of `products` repeatedly, at most `payments` times in total.
  init(_ queue: PaymentQueue, products: [ProductIdentifier], payments: Int) {
    self.queue = queue
    self.products = products
    state = Mutex((payments, []))
  }

  /// The transactions of all purchases.
  var paid: [TransactionID] { state.withLock { $0.paid } }

  /// Returns when every thread has made its requests and all its observers are removed.
  func act(threads: Int, requests: Int, seed: UInt64) async {
    await withCheckedContinuation { done in
      let group = DispatchGroup()
      for number in 0..<threads {
        group.enter()
        Thread.detachNewThread { [self] in
          var random = SplitMix(state: seed &+ UInt64(number))
          act(requests, &random)
          group.leave()
        }
      }
      group.notify(queue: .global()) { done.resume() }
    }
  }

  private func act(_ requests: Int, _ random: inout SplitMix) {
    var visitors: [Visitor] = []
    for _ in 0..<requests {
      switch Int.random(in: 0..<10, using: &random) {
      case 0...1:
        let visitor = Visitor(self, seed: random.next())
        visitors.append(visitor)
        queue.add(visitor)
      case 2: if let visitor = visitors.popLast() { queue.remove(visitor) }
      case 3...5: request(&random, queue.transactions)
      default:
        pay(&random)
        read(queue.transactions)
      }
      // Leaves processor time for the downloads.
      usleep(UInt32.random(in: 0..<3_000, using: &random))
    }
    visitors.forEach(queue.remove)
  }

  /// Makes a request for one of `transactions`.
  func request(_ random: inout SplitMix, _ transactions: [PaymentTransaction]) {
    guard let transaction = transactions.randomElement(using: &random) else { return pay(&random) }
    let downloads = transaction.downloads
    switch Int.random(in: 0..<12, using: &random) {
    case 0...2: queue.pause(downloads)
    case 3...5: queue.resume(downloads)
    case 6...7: queue.cancel(downloads)
    case 8...9: queue.start(downloads)
    case 10: queue.setPriority(Int.random(in: -9...9, using: &random), of: downloads)
    default: queue.finishTransaction(transaction)
    }
  }

  private func pay(_ random: inout SplitMix) {
    guard let product = products.randomElement(using: &random) else { return }
    let mayPay = state.withLock { state in
      state.left -= 1
      return state.left >= 0
    }
    guard mayPay else { return }
    let id = queue.add(Payment(productIdentifier: product))
    state.withLock { $0.paid.append(id) }
  }

  /// Reads values of handles while they may change.
  private func read(_ transactions: [PaymentTransaction]) {
    for transaction in transactions {
      _ = (transaction.transactionState, try? transaction.transactionReceipt(), transaction.error)
      for download in transaction.downloads {
        #expect((0...1).contains(download.progress))
        _ = (download.timeRemaining, download.phase, download.wait, download.contentURL)
      }
    }
  }
}

/// An observer that makes random requests in half of its calls.
private final class Visitor: PaymentTransactionObserver {
  private let crowd: Crowd
  private let random: Mutex<SplitMix>

  init(_ crowd: Crowd, seed: UInt64) {
    self.crowd = crowd
    random = Mutex(SplitMix(state: seed))
  }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) { act(queue, transactions) }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    act(queue, downloads.map(\.transaction))
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) { act(queue, transactions) }

  private func act(_ queue: PaymentQueue, _ transactions: [PaymentTransaction]) {
    var own = random.withLock { random in
      defer { _ = random.next() }
      return random
    }
    switch Int.random(in: 0..<20, using: &own) {
    case 0: queue.remove(self)
    case 1...10: crowd.request(&own, transactions)
    default: break
    }
  }
}

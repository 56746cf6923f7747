import Dispatch
import Foundation
import HostedContent
import HostedConcurrency

/// Values of this process from the kernel.
enum Process {
  /// Returns the resident memory in bytes.
  static func residentBytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    return (Int(text.split(separator: " ")[1]) ?? 0) * 4096
  }

  static func threads() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
  }
}

/// Returns the duration of `body` in seconds.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  return (ContinuousClock.now - start) / .seconds(1)
}

extension Double {
  /// Returns the number with `digits` decimals.
  func text(_ digits: Int) -> String { String(format: "%.\(digits)f", self) }
}

/// An observer that delivers, counts reports, and signals when `count` are done.
final class Deliverer: PaymentTransactionObserver {
  struct Counts: Sendable {
    var transactions = 0
    var downloads = 0
    var downloadCalls = 0
    var removed = 0
    /// The last reported state of each download.
    var last: [DownloadID: DownloadState] = [:]
    var errors: [ContentError] = []
  }

  private let counts = Mutex(Counts())
  private let done = DispatchSemaphore(value: 0)
  private let isDone: @Sendable (Counts) -> Bool
  private let isActing: Bool
  private let keepsStates: Bool

  /// If `acting`, starts downloads and finishes transactions; otherwise only counts.
  init(
    acting: Bool = true, keepingStates: Bool = false,
    until isDone: @escaping @Sendable (Counts) -> Bool
  ) {
    isActing = acting
    keepsStates = keepingStates
    self.isDone = isDone
  }

  /// Blocks until all are done.
  func wait() { done.wait() }

  var now: Counts { counts.withLock { $0 } }

  private func note(_ change: (inout Counts) -> Void) {
    let isNew = counts.withLock { counts in
      let was = isDone(counts)
      change(&counts)
      return !was && isDone(counts)
    }
    if isNew { done.signal() }
  }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    if isActing {
      for transaction in transactions where transaction.transactionState != .purchasing {
        let downloads = transaction.downloads
        if downloads.isEmpty {
          queue.finishTransaction(transaction)
        } else {
          queue.start(downloads)
        }
      }
    }
    note { $0.transactions += transactions.count }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    if isActing {
      for download in downloads where download.state == .finished {
        queue.finishTransaction(download.transaction)
      }
    }
    let states = keepsStates ? downloads.map { ($0.id, $0.state) } : []
    note { counts in
      counts.downloads += downloads.count
      counts.downloadCalls += 1
      for (id, state) in states { counts.last[id] = state }
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    note { $0.removed += transactions.count }
  }

  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    print("error: \(error)")
    note { $0.errors.append(error) }
  }
}

/// A store service in memory that responds at once; products without `offers` have no content.
struct InstantService: StoreService {
  var offers: [ProductIdentifier: [ContentOffer]] = [:]

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    ProductsResponse(products: [])
  }
  func allProducts() async throws -> ProductsResponse { ProductsResponse(products: []) }
  func grants(account: AccountID?) async throws -> [Grant] { [] }
  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    orders.map { order in
      .purchased(
        Grant(
          transactionIdentifier: order.transaction.rawValue,
          date: Date(timeIntervalSince1970: 0), payment: order.payment),
        contents: offers[order.payment.productIdentifier] ?? [])
    }
  }
}

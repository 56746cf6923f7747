// swift-format-ignore-file
// The code of README and articles as it stands there, so that it is compiled.
import AppUpdate
import ContentStore
import Foundation
import HostedContent
import HostedContentTesting
import HostedFileServer
import HostedHTTPValues

// MARK: README

final class Shelf: PaymentTransactionObserver {
  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    for transaction in transactions {
      switch transaction.transactionState {
      case .purchased, .restored:
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)               // a product without content has no downloads
      case .failed:
        print(transaction.error?.description ?? "Failed")
        queue.finishTransaction(transaction)
      case .purchasing, .deferred: break
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    for transaction in Set(downloads.map(\.transaction)) { finishIfComplete(transaction, queue) }
  }

  /// Finishes a transaction when all of its contents are installed, each in its `contentURL`.
  private func finishIfComplete(_ transaction: PaymentTransaction, _ queue: PaymentQueue) {
    if transaction.downloads.allSatisfy({ $0.state == .finished }) {
      queue.finishTransaction(transaction)
    }
  }
}

private func readme(libraryURL: URL) throws {
let queue = try PaymentQueue(
  PaymentQueue.Configuration(library: libraryURL, store: try StoreLocation("/srv/store")))
let shelf = Shelf()                                        // the queue does not retain it
queue.add(shelf)                                           // first: it reports what is unfinished
queue.add(Payment(productIdentifier: "com.example.book.chapter1"))
}

private func readmeAsync(_ queue: PaymentQueue, chapter: ProductIdentifier) async throws {
let folders = try await queue.deliver(Payment(productIdentifier: chapter))   // buys, installs, finishes
let check = try await UpdateMonitor(queue, policy: .automatic).check()       // newer versions, by number
let restored = try await queue.restore()                                     // on another library
  _ = (folders, check, restored)
}

// MARK: Writing a store service

private func storeServer(
  _ configuration: inout PaymentQueue.Configuration, server: URL, tokenFile: URL
) throws {
configuration.service = try HTTPStoreService(url: server, tokenFile: tokenFile)
configuration.revokedContent = .remove
}

struct OpenShop: StoreService {
  let store: StoreReader

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await store.products(Set(identifiers.map(\.rawValue)))
  }

  func allProducts() async throws -> ProductsResponse {
    try await store.products()
  }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    let offered = try await products(Set(orders.map(\.payment.productIdentifier))).products
    return orders.map { order in
      let product = offered.first { $0.productIdentifier == order.payment.productIdentifier }
      let grant = Grant(
        transactionIdentifier: order.transaction.rawValue, date: Date(), payment: order.payment)
      return .purchased(grant, contents: product?.contents ?? [])
    }
  }

  func grants(account: AccountID?) async throws -> [Grant] { [] }
}

// MARK: Start in five minutes

private func start() async throws {
let queue = try PaymentQueue(
  PaymentQueue.Configuration(
    library: URL(filePath: "library"), store: try StoreLocation("store")))
let shelf = Shelf()
queue.add(shelf)
queue.add(Payment(productIdentifier: "com.example.chapter1"))

let folders = try await queue.deliver(
  Payment(productIdentifier: "com.example.chapter1"))
let page = folders[0].appending(path: "Contents/page-1.txt")

var configuration = PaymentQueue.Configuration(
  library: URL(filePath: "library"), store: try StoreLocation("https://content.example.com/"))
configuration.trustedRoot = [UInt8](try Data(contentsOf: URL(filePath: "1.root.json")))
  _ = page
}

// MARK: Errors

private func errors(
  _ queue: PaymentQueue, _ payment: Payment, retryLater: () -> Void
) async {
do {
  _ = try await queue.deliver(payment)
} catch let error as ContentError where error.isRetryable {
  retryLater()
} catch {
  print(error)
}
}

// MARK: Updating content

private func updates(_ queue: PaymentQueue, chapter: ProductIdentifier) async throws {
let updates = try await queue.availableUpdates()
for update in updates {
  print("\(update.contentIdentifier): \(update.installed) → \(update.offered)")
}

let monitor = UpdateMonitor(queue, policy: .automatic)
let check = try await monitor.check()
for failure in check.failures { print("\(failure.update.contentIdentifier): \(failure.error)") }

for await result in UpdateMonitor(queue, policy: .automatic, interval: .seconds(3600)) {
  if case .failure(let error) = result { print(error) }
}

let lease = try await queue.lease(chapter)
let page = lease.url.appending(path: "Contents/index.html")
  _ = page
}

// MARK: Publishing

private func publishing() throws {
let store = try StoreFolder.create(at: URL(filePath: "store"))
try store.publish(
  [URL(filePath: "chapter1.pkg")],
  details: ProductDetails(title: "Chapter 1", price: 2.99, currency: "EUR"))
try store.add("com.example.tip", details: ProductDetails(type: .consumable))
}

private func refreshing() throws {
let store = try StoreFolder.open(at: URL(filePath: "store"))
try store.refresh()
}

private func refreshingInTask() async throws {
let renewal = try await performBlocking {
  try StoreFolder.open(at: URL(filePath: "store")).refresh()
}
_ = renewal
}

// MARK: The app's own version

private func lookingUp() async throws {
let lookup = AppLookup(transport: try HTTPLookupTransport())
let finding = try await lookup.find(.bundleIDs(["com.example.courier"]), country: nil)
print(finding.listing?.version ?? "not offered")
}

private func checking(
  stateFolder: URL, observer: any AppUpdateObserver, answerOfYourServer: AppVersionAnswer,
  payload: [UInt8]
) async throws {
let lookup = AppLookup(transport: try HTTPLookupTransport())          // Apple's server, or .init(server: yours)
let source = StoreUpdateSource(lookup, key: .bundleIDs(["com.example.courier"]), candidates: ["cn"])
let checker = try AppUpdateChecker(
  .init(app: InstalledApp(name: "Courier", version: "1.4"), folder: stateFolder), source: source)
checker.add(observer)                                                 // prompts as data, on a queue of your choice

try await checker.logIn(account: "ada", answer: answerOfYourServer)   // at log-in
await checker.enterForeground()                                       // at each foreground
await checker.receive(try UpdatePush(json: payload))                  // when a push comes
try checker.gate.enter("send order")                                  // in front of each core operation
}

// MARK: The server

private func serving(path: String, bytes: [UInt8]) throws {
var configuration = FileServer.Configuration()          // 127.0.0.1, any free port
configuration.routes["/lookup"] = { request in           // before files; request.location?.parameter("id")
  HTTPResponse(200, contentType: "application/json", bytes)
}
let server = try FileServer(folder: path, faults: try FaultScript("*.pkg cut 64kB once"), configuration: configuration)
try server.start()
_ = server.url                                           // http://127.0.0.1:PORT/
_ = server.requests                                      // method, path, range, headers, status, bytesSent, faults
try server.setFaults(.none)                              // while it runs; counts start at zero
server.stop()                                            // start() again takes the same port
}

// MARK: Testing

private func testing() async throws {
let session = try StoreSession()
try session.publish("com.example.book", "1.0", files: ["index.html": Array("Hello".utf8)])
let queue = try session.launch()
let folders = try await queue.deliver(
  Payment(productIdentifier: "com.example.book"))

try session.setFaults("*.pkg cut 4kB once")
let next = try session.relaunch()

try session.setDecision(.later, about: "com.example.book")           // until approve or decline
let error = ContentError(.notEntitled, "Not today", remedy: "Wait")
try session.setDecision(.fail(error), about: "com.example.other", count: 1)
try await session.refund("com.example.book")
try await session.advance(by: .seconds(91 * 86_400))
  _ = (folders, next)
}

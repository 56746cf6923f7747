// swift-format-ignore-file
// The code of StoreKit's articles as it stands there, so that it is compiled.
import Foundation
import HostedContentTesting
import StoreKit

private func moving() throws {
try SKPaymentQueue.configure(
  SKHostConfiguration(
    store: "https://content.example.com/", library: URL(filePath: "/var/lib/app/content"),
    trustedRoot: URL(filePath: "/etc/app/1.root.json")))
}

private func selling(_ server: URL, _ tokenFile: URL) throws {
var configuration = try SKHostConfiguration()          // HOSTEDCONTENT_STORE and the others
configuration.queue.service = try HTTPStoreService(url: server, tokenFile: tokenFile)
try SKPaymentQueue.configure(configuration)
}

final class Copier: NSObject, SKPaymentTransactionObserver {
  let documents: URL

  init(documents: URL) { self.documents = documents }

  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
  ) {
    for transaction in transactions {
      switch transaction.transactionState {
      case .purchased, .restored:
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)          // a product without content has no downloads
      case .failed: queue.finishTransaction(transaction)
      case .purchasing, .deferred: break
      @unknown default: break
      }
    }
  }

  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
    for transaction in Set(downloads.map { $0.transaction }) { finishIfComplete(transaction, queue) }
  }

  /// Copies all contents of a transaction once all are installed, and finishes it then.
  private func finishIfComplete(_ transaction: SKPaymentTransaction, _ queue: SKPaymentQueue) {
    guard transaction.downloads.allSatisfy({ $0.state == .finished }) else { return }
    do {
      for download in transaction.downloads { try copy(download) }
      queue.finishTransaction(transaction)
    } catch {
      print(error.localizedDescription)               // still open, so the next launch reports it again
    }
  }

  private func copy(_ download: SKDownload) throws {
    guard let folder = download.contentURL else { return }
    let target = documents.appendingPathComponent(download.contentIdentifier)
    if FileManager.default.fileExists(atPath: target.path) {
      try FileManager.default.removeItem(at: target)
    }
    try FileManager.default.copyItem(at: folder.appendingPathComponent("Contents"), to: target)
  }
}

private func testing(_ session: StoreSession) throws {
let queue = try SKPaymentQueue(
  configuration: SKHostConfiguration(queue: try session.configuration()))
  queue.close()
}

func explain(_ error: any Error) -> String {
  if let error = error as? SKError, error.code == .paymentCancelled { return "Cancelled" }
  let error = error as NSError                          // not `as? NSError`
  return error.domain == NSURLErrorDomain ? "No connection" : error.localizedDescription
}

func isPaid(_ number: Int) -> Bool {
  switch SKPaymentTransactionState(rawValue: number) ?? .failed {
  case .purchased, .restored: true
  case .purchasing, .failed, .deferred: false
  @unknown default: false
  }
}

class StoreObserver: NSObject, SKPaymentTransactionObserver {
  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
  ) {}

  // Without this, the method of Downloader would not be called on Linux.
  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {}
}

final class Downloader: StoreObserver {
  override func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
    for download in downloads { print(download.contentIdentifier, download.progress) }
  }
}

func updateScreen() {
  dispatchPrecondition(condition: .onQueue(.main))      // not Thread.isMainThread
}

func answer(_ request: SKProductsRequest, with response: SKProductsResponse) {
  let delegate: (any SKRequestDelegate)? = request.delegate
  (delegate as? any SKProductsRequestDelegate)?.productsRequest(request, didReceive: response)
}

func keepContent(of downloads: [SKDownload], in documents: URL) throws {
  for download in downloads {
    guard download.state == .finished, let folder = download.contentURL else { continue }
    let versions = documents.appendingPathComponent(download.contentIdentifier)
    let target = versions.appendingPathComponent(download.contentVersion)
    if FileManager.default.fileExists(atPath: target.path) { continue }
    try FileManager.default.createDirectory(at: versions, withIntermediateDirectories: true)
    let copy = versions.appendingPathComponent("incomplete")
    try? FileManager.default.removeItem(at: copy)
    try FileManager.default.copyItem(at: folder, to: copy)            // not moveItem
    try FileManager.default.moveItem(at: copy, to: target)
  }
}

func show(_ message: String) {
  #if os(iOS)
    presentAlert(message)
  #else
    print(message)
  #endif
}

final class TestProduct: SKProduct, @unchecked Sendable {
  override var productIdentifier: String { "com.example.book" }
}

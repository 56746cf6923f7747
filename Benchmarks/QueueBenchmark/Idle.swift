import HostedJournal
import HostedFileIO
import Foundation
import HostedContent

/// A queue with many unfinished transactions, each with one waiting download.
enum Idle {
  /// Fills the journal of a new library, with 1,000 transactions per commit.
  static func fill(_ path: String, _ count: Int) throws {
    let folder = try FileSystem.real.directory(at: path, creating: true)
    let journal = try SQLiteJournal(in: folder)
    let offers = try (0..<200).map { Shared(try offer($0)) }
    let receipt = String(repeating: "receipt.", count: 64)
    for start in stride(from: 0, to: count, by: 1_000) {
      try journal.commit(
        (start..<min(count, start + 1_000)).map { number in
          let id = TransactionID(rawValue: UUID().uuidString.lowercased())
          let offer = offers[number % offers.count]
          let payment = Payment(productIdentifier: offer.value.productIdentifier)
          return .save(
            TransactionRecord(
              id: id, sequence: number + 1, payment: payment,
              status: .purchased(
                Grant(
                  transactionIdentifier: id.rawValue, date: Date(timeIntervalSince1970: 1e9),
                  payment: payment, receipt: receipt)),
              downloads: [DownloadRecord(of: id, number: 1, sharing: offer)]))
        })
    }
  }

  private static func offer(_ number: Int) throws -> ContentOffer {
    let digest = Digest(bytes: [UInt8](repeating: UInt8(number), count: 32))
    guard let digest else {
      throw ContentError(.inconsistent, "No digest", remedy: "Read the code")
    }
    let product = try ProductIdentifier(validating: "com.example.content.number\(number)")
    return ContentOffer(
      productIdentifier: product, contentIdentifier: product, version: ContentVersion("1.0"),
      installedSize: 1_000_000,
      package: SignedFile(
        path: "products/\(product)/\(digest).pkg", length: 500_000, digest: digest),
      index: SignedFile(
        path: "products/\(product)/\(digest).index", length: 5_000, digest: digest))
  }

  /// Opens the queue, waits until everything is reported, and measures memory.
  static func open(_ path: String, _ count: Int) throws {
    try measure("\(path)-empty", 0, isShown: false)
    try measure(path, count, isShown: true)
  }

  private static func measure(_ path: String, _ count: Int, isShown: Bool) throws {
    let before = try Process.residentBytes()
    let start = ContinuousClock.now
    let queue = try PaymentQueue(configuration(path))
    let opened = ContinuousClock.now
    let observer = Deliverer(acting: false) { $0.transactions >= count && $0.downloads >= count }
    queue.add(observer)
    if count > 0 { observer.wait() } else { usleep(100_000) }
    let end = ContinuousClock.now
    usleep(500_000)
    let after = try Process.residentBytes()
    if isShown {
      print(
        "idle, \(count) transactions, seconds to open: \(((opened - start) / .seconds(1)).text(3))")
      print(
        "idle, \(count) transactions, seconds until all are delivered: "
          + ((end - start) / .seconds(1)).text(3))
      print("idle, resident bytes a transaction: \((after - before) / max(1, count))")
    }
    withExtendedLifetime(observer) { queue.close() }
  }

  private static func configuration(_ path: String) throws -> PaymentQueue.Configuration {
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: path), store: try StoreLocation("\(path)-no-store"))
    configuration.service = InstantService()
    return configuration
  }
}

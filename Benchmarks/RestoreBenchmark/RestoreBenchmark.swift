import HostedModel
import Foundation
import HostedContent

/// Measures restores from a store server in another process.
///
/// `HostedRestoreBenchmark TOOL FOLDER PURCHASES PRODUCTS` creates a store, and a ledger in which
/// one account has bought each product several times, in the new FOLDER. `TOOL` is `hostedcontent`.
@main
enum RestoreBenchmark {
  private static let runs = 5

  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count == 4, let purchases = Int(words[2]), let products = Int(words[3]),
      (1...purchases).contains(products)
    else {
      print("Usage: HostedRestoreBenchmark TOOL FOLDER PURCHASES PRODUCTS")
      exit(2)
    }
    let sample = try SampleLedger(words[1], purchases: purchases, products: products)
    let server = try ToolServer(words[0], sample)
    var restores: [Measurement] = []
    var lists: [Measurement] = []
    for run in 1...runs {
      let queue = try queue(sample, server, library: "library-\(run)")
      restores.append(
        try await measure(server, expecting: products) {
          try await queue.restore(withApplicationUsername: SampleLedger.account).count
        })
      lists.append(
        try await measure(server, expecting: purchases) {
          try await queue.grants(account: SampleLedger.account).count
        })
      queue.close()
    }
    report("restore of \(purchases) purchases of \(products) products", restores)
    report("\(purchases) grants with verified receipts", lists)
  }

  private static func queue(
    _ sample: SampleLedger, _ server: ToolServer, library: String
  ) throws -> PaymentQueue {
    var network = NetworkSettings()
    network.proxy = .direct
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: "\(sample.path)/\(library)"), store: try StoreLocation(sample.store))
    configuration.service = try HTTPStoreService(
      url: server.url, token: sample.token, network: network)
    configuration.receiptVerifier = ReceiptVerifier(keys: [sample.receiptKey])
    return try PaymentQueue(configuration)
  }

  // MARK: Measurements

  private struct Measurement {
    let seconds: Double
    let serverSeconds: Double
  }

  /// Returns the wall time of `body` and the processor time of the server.
  private static func measure(
    _ server: ToolServer, expecting count: Int, _ body: @Sendable () async throws -> Int
  ) async throws -> Measurement {
    let before = try server.processorSeconds
    let start = ContinuousClock.now
    let found = try await body()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    guard found == count else {
      throw ContentError(
        .inconsistent, "Expected \(count) results, found \(found)", remedy: "Report this error")
    }
    return Measurement(seconds: seconds, serverSeconds: try server.processorSeconds - before)
  }

  private static func report(_ what: String, _ measurements: [Measurement]) {
    let count = measurements.count
    print("\(what), seconds min/median/max of \(count): \(spread(measurements.map(\.seconds)))")
    print("the same, processor time of the server: \(spread(measurements.map(\.serverSeconds)))")
  }

  private static func spread(_ values: [Double]) -> String {
    let sorted = values.sorted()
    return [0, sorted.count / 2, sorted.count - 1].map { String(format: "%.2f", sorted[$0]) }
      .joined(separator: " / ")
  }
}

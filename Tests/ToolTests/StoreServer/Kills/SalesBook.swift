import HostedConcurrency
import Foundation
import HostedTestSupport

/// What buyers have asked a store server for, and what it has answered; for several threads.
final class SalesBook: Sendable {
  /// A purchase that a buyer has begun.
  struct Sale: Sendable {
    let key: String
    let account: String
    let product: String
    /// The document of the first answer.
    var answer: String?
    /// Whether a request for it was not answered.
    var isInterrupted = false
    /// Whether the server has acknowledged that it is finished.
    var isFinished = false
  }

  /// An event that the server has reported.
  struct Event: Hashable, Sendable {
    let cursor: String
    let kind: String
    let transaction: String
  }

  /// The phases of a campaign.
  enum Phase: Int, Comparable, Sendable {
    /// Buyers begin purchases, and processes are killed.
    case selling
    /// Buyers complete what they have begun.
    case finishing
    /// All purchases are complete.
    case over
    /// After a failure: all threads end as soon as possible.
    case aborted

    static func < (first: Phase, second: Phase) -> Bool { first.rawValue < second.rawValue }
  }

  /// What has happened.
  struct Counts: Sendable {
    var serverKills = 0
    var startKills = 0
    var databaseKills = 0
    var clientKills = 0
    var lives = 0
    /// The numbers of errors that clients have printed, and how often.
    var clientErrors: [String: Int] = [:]
  }

  private struct State {
    var sales: [String: Sale] = [:]
    /// The keys with an answer, in order.
    var answered: [String] = []
    var events: [Event] = []
    /// The accounts of library clients that have bought each product.
    var readers: Set<String> = []
    var counts = Counts()
    var phase = Phase.selling
    var round = 0
    var failures: [String] = []
  }

  private let seed: UInt64
  private let state = Mutex(State())

  /// Each failure names the seed.
  init(seed: UInt64) { self.seed = seed }

  private static let maximumFailures = 5

  var phase: Phase { state.withLock { $0.phase } }
  var failures: [String] { state.withLock { $0.failures } }
  var counts: Counts { state.withLock { $0.counts } }
  var sales: [String: Sale] { state.withLock { $0.sales } }
  var events: [Event] { state.withLock { $0.events } }
  var readers: Set<String> { state.withLock { $0.readers } }

  /// Enters a phase; an earlier one is ignored.
  func enter(_ phase: Phase) { state.withLock { $0.phase = max($0.phase, phase) } }

  func begin(round: Int) { state.withLock { $0.round = round } }

  func count(_ change: (inout Counts) -> Void) { state.withLock { change(&$0.counts) } }

  /// Adds a failure; after several, the campaign is aborted.
  func fail(_ text: String) {
    state.withLock { state in
      state.failures.append("seed \(seed), round \(state.round): \(text)")
      if state.failures.count >= Self.maximumFailures { state.phase = .aborted }
    }
  }

  // MARK: Purchases

  /// Begins a purchase.
  func begin(_ key: String, of product: String, for account: String) -> Sale {
    let sale = Sale(key: key, account: account, product: product)
    state.withLock { $0.sales[key] = sale }
    return sale
  }

  /// Notes that requests for these purchases were sent, and not answered.
  func interrupt(_ keys: [String]) {
    state.withLock { state in
      for key in keys { state.sales[key]?.isInterrupted = true }
    }
  }

  func finish(_ key: String) { state.withLock { $0.sales[key]?.isFinished = true } }

  /// Records an answer with status 200 or 201, which must be the same each time.
  func record(_ key: String, status: Int, _ purchase: [String: Any]) {
    let document = Self.document(purchase)
    let receipt = purchase["receipt"] as? String ?? ""
    let names = ["transactionIdentifier", "account", "productIdentifier", "state"]
      .map { purchase[$0] as? String ?? "" }
    let failure = state.withLock { state -> String? in
      guard var sale = state.sales[key] else { return "\(key) was never asked for" }
      if let answer = sale.answer {
        return status == 200 && answer == document
          ? nil
          : "\(key) has another answer, with status \(status).\nFirst: \(answer)\nNow: \(document)"
      }
      guard names == [key, sale.account, sale.product, "purchased"], !receipt.isEmpty else {
        return "\(key) of \(sale.product) for \(sale.account) has a wrong answer: \(document)"
      }
      guard status == 201 || status == 200 && sale.isInterrupted else {
        return "\(key) was not asked for before, but has the status \(status): \(document)"
      }
      sale.answer = document
      state.sales[key] = sale
      state.answered.append(key)
      return nil
    }
    if let failure { fail(failure) }
  }

  /// Returns a purchase as a text that is equal for equal purchases.
  static func document(_ purchase: [String: Any]) -> String {
    var members = purchase
    // Some buyers finish it later.
    members["isFinished"] = nil
    // Each answer is signed anew, with another signature of the same claims.
    let receipt = purchase["receipt"] as? String
    members["receipt"] = receipt?.split(separator: ".").dropLast().joined(separator: ".")
    let bytes = try? JSONSerialization.data(
      withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes])
    return bytes.map { String(decoding: $0, as: UTF8.self) } ?? "not a purchase"
  }

  /// Returns the purchases that were answered last, and random ones that were answered earlier.
  func answered(last: Int, earlier: Int, _ random: inout SplitMix) -> [Sale] {
    state.withLock { state in
      var keys = Set(state.answered.suffix(last))
      for _ in 0..<earlier {
        if let key = state.answered.randomElement(using: &random) { keys.insert(key) }
      }
      return keys.compactMap { state.sales[$0] }
    }
  }

  // MARK: Others

  func add(_ events: [Event]) { state.withLock { $0.events += events } }

  func add(reader account: String) {
    state.withLock { state in
      state.readers.insert(account)
      state.counts.lives += 1
    }
  }
}

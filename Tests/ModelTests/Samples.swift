import FoundationEssentials
@testable import HostedModel
import HostedTestSupport
import Testing

/// Values for tests of the state machine.
enum Sample {
  static let error = ContentError(.fileFailed, "It failed", remedy: "Try again")

  static func digest() throws -> Digest {
    try #require(Digest(bytes: [UInt8](repeating: 7, count: 32)))
  }

  static func offer(_ product: String = "a", version: String = "1.0") throws -> ContentOffer {
    let file = SignedFile(path: "targets/\(product)", length: 10, digest: try digest())
    return ContentOffer(
      productIdentifier: try ProductIdentifier(validating: product),
      contentIdentifier: try ProductIdentifier(validating: product),
      version: try ContentVersion(validating: version),
      installedSize: 20, package: file, index: file)
  }

  static func grant() throws -> Grant {
    Grant(
      transactionIdentifier: "g", date: Date(timeIntervalSince1970: 0),
      payment: Payment(productIdentifier: ProductIdentifier("a")))
  }

  static func transaction(
    _ state: TransactionState, id: String = "t", sequence: Int = 1, download: DownloadState? = nil,
    product: String = "a"
  ) throws -> TransactionRecord {
    let id = TransactionID(rawValue: id)
    let downloads = try download.map {
      [
        DownloadRecord(
          of: id, number: 1, sharing: Shared(try offer(product)), status: status($0))
      ]
    }
    return TransactionRecord(
      id: id, sequence: sequence, payment: Payment(productIdentifier: ProductIdentifier("a")),
      status: try status(state), downloads: downloads ?? [])
  }

  static func status(_ state: TransactionState) throws -> TransactionStatus {
    switch state {
    case .purchasing: .purchasing
    case .purchased: .purchased(try grant())
    case .failed: .failed(error)
    case .restored: .restored(try grant(), original: try grant())
    case .deferred: .deferred
    }
  }

  static func status(_ state: DownloadState) -> DownloadStatus {
    switch state {
    case .waiting: .waiting(isRequested: false)
    case .active: .active
    case .paused: .paused
    case .finished: .finished
    case .failed: .failed(error)
    case .cancelled: .cancelled
    }
  }

  /// Returns a launched queue with a purchased transaction `t` and its download `t-1` in `state`.
  static func queue(download state: DownloadState) throws -> QueueState {
    let stored = state == .active ? DownloadState.waiting : state
    var queue = QueueState(transactions: [try transaction(.purchased, download: stored)])
    _ = queue.apply(.launched)
    if state == .active { _ = queue.apply(.startRequested(downloads: ["t-1"])) }
    return queue
  }

  /// Returns a random event for `queue`, usually about its own records.
  static func event(step: Int, _ queue: QueueState, _ random: inout SplitMix) throws -> QueueEvent {
    let transactions = queue.transactions
    let ids = transactions.map(\.id)
    let downloads = transactions.flatMap { $0.downloads.map(\.id) }
    let id = ids.randomElement(using: &random) ?? "none"
    let download = downloads.randomElement(using: &random) ?? "none"
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1:
      return .paymentAdded(
        transaction: TransactionID(rawValue: "t\(step)"),
        Payment(productIdentifier: ProductIdentifier("a")))
    case 2:
      return .purchaseAnswered(
        transaction: id, .purchased(try grant(), contents: [try offer(), try offer()]))
    case 3:
      return .purchaseAnswered(
        transaction: id, Bool.random(using: &random) ? .deferred : .failed(error))
    case 4: return .startRequested(downloads: downloads)
    case 5: return .pauseRequested(downloads: [download])
    case 6: return .resumeRequested(downloads: [download])
    case 7: return .cancelRequested(downloads: [download])
    case 8: return .finishRequested(transaction: id)
    case 9:
      return .restored(
        transaction: TransactionID(rawValue: "r\(step)"), original: try grant(),
        contents: [try offer()], purpose: .history)
    case 10: return .launched
    default:
      let worked = downloads.filter(queue.hasWorker).randomElement(using: &random) ?? download
      let results: [WorkResult] = [.installed, .failed(error), .stopped]
      return .workEnded(download: worked, results.randomElement(using: &random) ?? .stopped)
    }
  }
}

public import HostedTransfer
public import FoundationEssentials
import HostedConcurrency

/// An event in a queue, for operators.
///
/// `name` is one of a few constant texts, so that events can be counted; `details` has the values.
/// It never contains account names or receipts.
public struct DiagnosticEvent: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The severity of an event.
  public enum Severity: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
    case info, warning, error
  }

  /// The time of the event.
  public let date: Date
  /// The severity of an event.
  public let severity: Severity
  /// The name of the event; a constant text.
  public let name: String
  /// Details such as transaction, product, content, version, error or bytes.
  public let details: [String: String]

  /// The severity, the name and the details.
  public var description: String {
    let details = details.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    return "\(severity): \(name)\(details)".printable(limit: .max)
  }
}

/// Counters of a queue since it was opened.
public struct QueueStatistics: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The number of installed downloads.
  public internal(set) var installs = 0
  /// The number of failed downloads.
  public internal(set) var failures = 0
  /// The number of downloads stopped on request.
  public internal(set) var stops = 0
  /// Bytes of archives fetched and verified.
  public internal(set) var bytesFetched: Int64 = 0
  /// Bytes of archives reused from an earlier attempt.
  public internal(set) var bytesReused: Int64 = 0
  /// Statistics of the transfers of all ended downloads.
  public internal(set) var transfers = TransferStatistics()
  /// The number of commits to the journal; each is one sync.
  public internal(set) var journalCommits = 0
  /// The number of failed commits.
  public internal(set) var journalFailures = 0

  /// The counters of downloads, bytes and commits.
  public var description: String {
    "\(installs) installed, \(failures) failed, \(stops) stopped, \(bytesFetched) bytes fetched, "
      + "\(bytesReused) bytes reused, \(journalCommits) commits, \(journalFailures) failed commits"
  }

  mutating func take(_ result: WorkResult, _ job: DownloadJob) {
    switch result {
    case .installed: installs += 1
    case .failed: failures += 1
    case .stopped: stops += 1
    }
    let statistics = job.ticket.statistics
    bytesFetched += job.bytesFetched
    bytesReused += statistics.bytesReused
    transfers.add(statistics)
  }
}

/// Counts events and passes them to listeners; very cheap without listeners.
final class Diagnostics: Sendable {
  private let now: @Sendable () -> Date
  private let counters = Mutex(QueueStatistics())
  private let listeners = OpenStreams<DiagnosticEvent>()

  init(now: @escaping @Sendable () -> Date) { self.now = now }

  var statistics: QueueStatistics { counters.withLock { $0 } }

  func events() -> AsyncStream<DiagnosticEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1000)) { listeners.add($0) }
  }

  func close() { listeners.finish() }

  func count(_ change: (inout QueueStatistics) -> Void) { counters.withLock { change(&$0) } }

  /// Logs an event; `details` is called only if there are listeners.
  func log(
    _ severity: DiagnosticEvent.Severity, _ name: StaticString,
    _ details: () -> [String: String] = { [:] }
  ) {
    guard !listeners.isEmpty else { return }
    listeners.yield(
      DiagnosticEvent(date: now(), severity: severity, name: "\(name)", details: details()))
  }

  /// Logs an event of the queue after it is journaled.
  func log(_ event: QueueEvent) {
    switch event {
    case .launched: log(.info, "queue launched")
    case .paymentAdded(let id, let payment): log("payment added", id, of: payment)
    case .paymentRetried(let id): log(.info, "payment journaled") { ["transaction": id.rawValue] }
    case .restored(let id, let original, _, _):
      log("transaction restored", id, of: original.payment)
    case .granted(let id, let grant, _): log("purchase granted", id, of: grant.payment)
    case .purchaseAnswered(let id, let outcome): log(id, outcome)
    case .restoreRequested: log(.info, "restore begun")
    case .restoreLost(let error):
      log(.error, "restored purchase lost") { ["error": "\(error.code.rawValue)"] }
    case .restoreEnded(_, nil): log(.info, "restore finished")
    case .restoreEnded(_, let error?):
      log(.error, "restore failed") { ["error": "\(error.code.rawValue)"] }
    case .startRequested(let ids): log("start requested", ids)
    case .pauseRequested(let ids): log("pause requested", ids)
    case .resumeRequested(let ids): log("resume requested", ids)
    case .cancelRequested(let ids): log("cancel requested", ids)
    case .finishRequested(let id): log(.info, "finish requested") { ["transaction": id.rawValue] }
    case .finishAcknowledged(let id):
      log(.info, "finish acknowledged") { ["transaction": id.rawValue] }
    case .storeEventsHandled: break
    case .contentResolved(let id, _): log(.info, "content resolved") { ["download": id.rawValue] }
    case .workEnded(let id, .installed):
      log(.info, "download installed") { ["download": id.rawValue] }
    case .workEnded(let id, .stopped): log(.info, "download stopped") { ["download": id.rawValue] }
    case .workEnded(let id, .failed(let error)):
      log(.error, "download failed") {
        ["download": id.rawValue, "error": "\(error.code.rawValue)"]
      }
    case .priorityChanged(let ids, _): log("priority changed", ids)
    case .activeLimitChanged(let limit):
      log(.info, "active limit changed") { ["limit": "\(limit)"] }
    }
  }

  private func log(_ name: StaticString, _ transaction: TransactionID, of payment: Payment) {
    log(.info, name) {
      ["transaction": transaction.rawValue, "product": payment.productIdentifier.rawValue]
    }
  }

  private func log(_ name: StaticString, _ downloads: [DownloadID]) {
    log(.info, name) { ["downloads": downloads.prefix(20).map(\.rawValue).joined(separator: " ")] }
  }

  private func log(_ transaction: TransactionID, _ outcome: PurchaseOutcome) {
    switch outcome {
    case .purchased(_, let contents):
      log(.info, "purchase made") {
        ["transaction": transaction.rawValue, "contents": "\(contents.count)"]
      }
    case .deferred: log(.info, "purchase deferred") { ["transaction": transaction.rawValue] }
    case .undecided: break
    case .failed(let error):
      log(.warning, "purchase failed") {
        ["transaction": transaction.rawValue, "error": "\(error.code.rawValue)"]
      }
    }
  }
}

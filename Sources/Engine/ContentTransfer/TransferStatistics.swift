import Concurrency
import ContentModel

/// What transfers did, in bytes, counts and seconds; of one ticket, or of a whole session.
public struct TransferStatistics: Hashable, Codable, Sendable {
  /// Body bytes that came over the network, right or not.
  public var bytesReceived: Int64 = 0
  /// Bytes that were verified and handed over.
  public var bytesFetched: Int64 = 0
  /// Bytes that were there from before, as whoever keeps them says.
  public var bytesReused: Int64 = 0
  /// Requests that were sent, redirects not counted.
  public var requests = 0
  /// Requests that failed, by the fault's short name, such as `status 503`.
  public var failures: [String: Int] = [:]
  /// Verified bytes by the origin that sent them.
  public var bytesByHost: [String: Int64] = [:]
  /// Packages that could not be taken apart, so that they were fetched whole, by the reason.
  public var wholePackages: [String: Int] = [:]
  /// The protocol of the last answer, such as `HTTP/2`.
  public var protocolName: String?
  /// The time from the first request that was answered to the first byte of the answer.
  public var timeToFirstByte: Duration?
  /// The time in which at least one request was in progress.
  public var activeTime = Duration.zero

  /// Nothing was done yet.
  public init() {}

  /// Bytes that came and could not be used: of wrong pieces, of broken-off ones, of error pages.
  public var bytesWasted: Int64 { max(0, bytesReceived - bytesFetched) }
  /// Requests that were made again after a failure.
  public var retries: Int { failures.values.reduce(0, +) }
  /// Verified bytes a second while a request was under way; nil before anything was.
  public var rate: Double? {
    activeTime > .zero ? Double(bytesFetched) / activeTime.inSeconds : nil
  }
}

extension TransferStatistics {
  /// Takes up what another ticket's transfers did after this one's.
  package mutating func add(_ other: TransferStatistics) {
    bytesReceived += other.bytesReceived
    bytesFetched += other.bytesFetched
    bytesReused += other.bytesReused
    requests += other.requests
    failures.merge(other.failures, uniquingKeysWith: +)
    bytesByHost.merge(other.bytesByHost, uniquingKeysWith: +)
    wholePackages.merge(other.wholePackages, uniquingKeysWith: +)
    protocolName = other.protocolName ?? protocolName
    timeToFirstByte = timeToFirstByte ?? other.timeToFirstByte
    activeTime += other.activeTime
  }
}

/// Where statistics are written down while transfers run; from any thread.
final class TransferCounters: Sendable {
  private let state = Mutex(State())
  private let received = Atomic<Int>(0)

  private struct State {
    var statistics = TransferStatistics()
    var running = 0
    var runningSince = 0.0
  }

  /// What was written down so far.
  var statistics: TransferStatistics {
    var statistics = state.withLock { $0.statistics }
    statistics.bytesReceived = Int64(received.load(ordering: .relaxed))
    return statistics
  }

  /// Counts body bytes as they come in; called for each of them, so without a lock.
  func receive(_ bytes: Int) { received.wrappingAdd(bytes, ordering: .relaxed) }

  func record(_ change: (inout TransferStatistics) -> Void) {
    state.withLock { change(&$0.statistics) }
  }

  /// Counts verified bytes that came from `origin`.
  func fetched(_ bytes: Int64, from origin: String) {
    record {
      $0.bytesFetched += bytes
      $0.bytesByHost[origin, default: 0] += bytes
    }
  }

  /// A request was sent.
  func started(at now: Double) {
    state.withLock { state in
      state.statistics.requests += 1
      if state.running == 0 { state.runningSince = now }
      state.running += 1
    }
  }

  /// A request that was sent has ended.
  func ended(_ end: ExchangeEnd, at now: Double) {
    state.withLock { state in
      state.running -= 1
      if state.running == 0 { state.statistics.activeTime += .seconds(now - state.runningSince) }
      if let name = end.protocolName { state.statistics.protocolName = name }
      if state.statistics.timeToFirstByte == nil {
        state.statistics.timeToFirstByte = end.timeToFirstByte.map { .seconds($0) }
      }
      if let fault = end.fault, fault.kind != .cancelled {
        state.statistics.failures[fault.name, default: 0] += 1
      }
    }
  }
}

import HostedHTTPValues
import HostedConcurrency
import HostedModel

/// Statistics of transfers, for one ticket or for a whole session.
public struct TransferStatistics: Hashable, Codable, Sendable {
  /// The body bytes that were received over the network, correct or not.
  public internal(set) var bytesReceived: Int64 = 0
  /// The bytes that were verified and delivered.
  public internal(set) var bytesFetched: Int64 = 0
  /// The bytes that already existed locally, as reported by their owner.
  public internal(set) var bytesReused: Int64 = 0
  /// The number of requests that were sent, without redirects.
  public internal(set) var requests = 0
  /// The number of failed requests, by the short name of the fault, such as `status 503`.
  public internal(set) var failures: [String: Int] = [:]
  /// The verified bytes by the origin that sent them.
  public internal(set) var bytesByHost: [String: Int64] = [:]
  /// The number of packages that had to be fetched whole, by reason.
  public internal(set) var wholePackages: [String: Int] = [:]
  /// The protocol of the last answer, such as `HTTP/2`.
  public internal(set) var protocolName: String?
  /// The time from the first answered request to the first byte of the answer.
  public internal(set) var timeToFirstByte: Duration?
  /// The time during which at least one request was running.
  ///
  /// While requests are running, it ends at the last verified bytes.
  public internal(set) var activeTime = Duration.zero

  /// Creates empty statistics.
  package init() {}

  /// The bytes that could not be used: of wrong or incomplete pieces, and of error pages.
  ///
  /// While requests are running, also those of pieces that have not arrived completely.
  public var bytesWasted: Int64 { max(0, bytesReceived - bytesFetched) }
  /// The verified bytes per second while requests were running, or nil before the first request.
  public var rate: Double? {
    activeTime > .zero ? Double(bytesFetched) / activeTime.inSeconds : nil
  }
}

extension TransferStatistics {
  /// Adds the statistics of a later ticket.
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

/// Counts statistics while transfers run; use it from any thread.
final class TransferCounters: Sendable {
  private let state = Mutex(State())
  private let received = Atomic<Int>(0)

  private struct State {
    var statistics = TransferStatistics()
    var running = 0
    /// The uptime up to which `activeTime` is counted.
    var countedUntil = 0.0

    mutating func advance(to now: Double) {
      guard now > countedUntil else { return }
      if running > 0 { statistics.activeTime += .seconds(now - countedUntil) }
      countedUntil = now
    }
  }

  /// The statistics so far.
  var statistics: TransferStatistics {
    var statistics = state.withLock { $0.statistics }
    statistics.bytesReceived = Int64(received.load(ordering: .relaxed))
    return statistics
  }

  /// Counts received body bytes; it is called for each chunk, and therefore takes no lock.
  func receive(_ bytes: Int) { received.wrappingAdd(bytes, ordering: .relaxed) }

  func record(_ change: (inout TransferStatistics) -> Void) {
    state.withLock { change(&$0.statistics) }
  }

  /// Counts verified bytes from `origin`.
  func fetched(_ bytes: Int64, from origin: String, at now: Double) {
    state.withLock { state in
      state.statistics.bytesFetched += bytes
      state.statistics.bytesByHost[origin, default: 0] += bytes
      state.advance(to: now)
    }
  }

  /// Counts a request that was sent.
  func started(at now: Double) {
    state.withLock { state in
      state.statistics.requests += 1
      state.advance(to: now)
      state.running += 1
    }
  }

  /// Counts the end of a request that was sent.
  func ended(_ end: ExchangeEnd, at now: Double) {
    state.withLock { state in
      state.advance(to: now)
      state.running -= 1
      if let name = end.head?.version { state.statistics.protocolName = name }
      if state.statistics.timeToFirstByte == nil {
        state.statistics.timeToFirstByte = end.timeToFirstByte.map { .seconds($0) }
      }
      if let fault = end.fault, fault.kind != .cancelled {
        state.statistics.failures[fault.name, default: 0] += 1
      }
    }
  }
}

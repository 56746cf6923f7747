/// Decides which waiting request may start: limits, priorities, fairness; pure, time is handed in.
///
/// Among those that may start, the highest priority comes first; among equals the transfer with the
/// fewest requests under way, so that a large one, which asks for several, does not keep out many
/// small ones; among those the older transfer, so that its next request is not kept out either. A
/// transfer's further requests also leave a quarter of the places free for the first request of
/// another.
struct TransferSchedule {
  /// A request as the schedule sees it.
  struct Entry: Hashable {
    let id: Int
    /// The transfer that it serves; numbers rise with the order of beginning.
    let owner: Int
    let origin: String
    var priority: Int
    /// The instant before which it must not start.
    let notBefore: Double
    /// Bytes of buffers that it may hold.
    let memory: Int
  }

  /// Why a request does not start.
  enum Obstacle: Hashable {
    case tooEarly(until: Double)
    case connections, hostConnections, memory
    /// The host refuses requests for now.
    case hostPause(until: Double)
  }

  /// Requests at once over HTTP/2 for each connection that would be allowed without it.
  private static let streamsPerConnection = 4

  var limits: TransferLimits
  /// Origins whose requests share a connection, since they answer over HTTP/2.
  var multiplexed: Set<String> = []
  private var waiting: [Entry] = []
  private var running: [Int: Entry] = [:]
  private var runningByOrigin: [String: Int] = [:]
  private var runningByOwner: [Int: Int] = [:]
  private var memory = 0
  /// Origins that let nothing start now, with the instants at which to try again.
  private(set) var closed: [String: Double] = [:]

  init(limits: TransferLimits) { self.limits = limits }

  /// Adds a request that waits from now on.
  mutating func add(_ entry: Entry) { waiting.append(entry) }

  /// Forgets a request, waiting or running; its place is free.
  mutating func remove(_ id: Int) {
    if let index = waiting.firstIndex(where: { $0.id == id }) { waiting.remove(at: index) }
    guard let entry = running.removeValue(forKey: id) else { return }
    memory -= entry.memory
    Self.decrement(&runningByOrigin, entry.origin)
    Self.decrement(&runningByOwner, entry.owner)
  }

  /// Changes the priority of all waiting requests of a transfer.
  mutating func setPriority(_ priority: Int, of owner: Int) {
    for index in waiting.indices where waiting[index].owner == owner {
      waiting[index].priority = priority
    }
  }

  /// The requests that start now, in order; they count as running from here on.
  ///
  /// `opening` lets a request start at its host, or says when to try again.
  mutating func start(at now: Double, opening: (Entry) -> Double? = { _ in nil }) -> [Int] {
    var started: [Int] = []
    closed = [:]
    while let index = next(at: now) {
      if let instant = opening(waiting[index]) {
        closed[waiting[index].origin] = instant
        continue
      }
      let entry = waiting.remove(at: index)
      running[entry.id] = entry
      runningByOrigin[entry.origin, default: 0] += 1
      runningByOwner[entry.owner, default: 0] += 1
      memory += entry.memory
      started.append(entry.id)
    }
    return started
  }

  private func next(at now: Double) -> Int? {
    var best: Int?
    for index in waiting.indices where obstacle(waiting[index], at: now) == nil {
      if let present = best, !isBefore(waiting[index], waiting[present]) { continue }
      best = index
    }
    return best
  }

  /// Whether `left` starts before `right`; of equals the first in `waiting` does.
  private func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    if left.priority != right.priority { return left.priority > right.priority }
    let running = (
      runningByOwner[left.owner, default: 0], runningByOwner[right.owner, default: 0]
    )
    return running.0 == running.1 ? left.owner < right.owner : running.0 < running.1
  }

  /// Why waiting request `entry` cannot start; nil when it can.
  func obstacle(_ entry: Entry, at now: Double) -> Obstacle? {
    if entry.notBefore > now { return .tooEarly(until: entry.notBefore) }
    if let until = closed[entry.origin] { return .hostPause(until: until) }
    let isFurther = runningByOwner[entry.owner, default: 0] > 0
    let count = runningByOrigin[entry.origin, default: 0]
    let isShared = multiplexed.contains(entry.origin)
    // A request that shares a connection needs no other one.
    if !isShared || count == 0, connections >= places(limits.connections, isFurther) {
      return .connections
    }
    if count >= places(requestsPerHost(isShared: isShared), isFurther) { return .hostConnections }
    if !running.isEmpty, memory + entry.memory > limits.memory { return .memory }
    return nil
  }

  /// Connections in use; those of a host that answers over HTTP/2 count as one.
  private var connections: Int {
    multiplexed.isEmpty
      ? running.count
      : runningByOrigin.reduce(0) { $0 + (multiplexed.contains($1.key) ? 1 : $1.value) }
  }

  private func requestsPerHost(isShared: Bool) -> Int {
    isShared
      ? min(limits.connectionsPerHost, 1 << 20) * Self.streamsPerConnection
      : limits.connectionsPerHost
  }

  private func places(_ limit: Int, _ isFurther: Bool) -> Int {
    max(1, limit) - (isFurther ? max(1, limit) / 4 : 0)
  }

  /// The waiting requests with what keeps each, for whoever shows it.
  func obstacles(at now: Double) -> [(entry: Entry, obstacle: Obstacle?)] {
    waiting.map { ($0, obstacle($0, at: now)) }
  }

  /// When a request that waits for its time may start; nil when none does.
  func nextInstant(after now: Double) -> Double? {
    let instants = waiting.lazy.map(\.notBefore).filter { $0 > now } + closed.values
    return instants.min()
  }

  /// The requests under way.
  var runningNow: Set<Int> { Set(running.keys) }

  private static func decrement<Key: Hashable>(_ counts: inout [Key: Int], _ key: Key) {
    guard let count = counts[key] else { return }
    counts[key] = count > 1 ? count - 1 : nil
  }
}

/// Decides which waiting request starts: limits, priorities, fairness.
///
/// Pure: callers pass the time. The request with the highest priority comes first. Among equals, it
/// is the transfer with the fewest running requests, so that a large transfer with several requests
/// does not block many small ones. Among those, it is the oldest transfer, so that its next request
/// is not delayed forever. In addition, the second and later requests of a transfer leave a quarter
/// of the places free for first requests of other transfers.
struct TransferSchedule {
  /// A request in the schedule.
  struct Entry: Hashable {
    let id: Int
    /// The transfer of the request; numbers increase in the order of creation.
    let owner: Int
    let origin: String
    var priority: Int
    /// The uptime before which it must not start.
    let notBefore: Double
    /// The maximum bytes of its buffers.
    let memory: Int
  }

  /// The reason why a request does not start.
  enum Obstacle: Hashable {
    case tooEarly(until: Double)
    case connections, hostConnections, memory
    /// The host currently refuses requests.
    case hostPause(until: Double)
  }

  /// The requests over HTTP/2 per allowed connection without it.
  private static let streamsPerConnection = 4

  var limits: TransferLimits
  /// The origins that answer over HTTP/2, so that their requests share a connection.
  var multiplexed: Set<String> = []
  private var waiting: [Entry] = []
  private(set) var running: [Int: Entry] = [:]
  private var runningByOrigin: [String: Int] = [:]
  private var runningByOwner: [Int: Int] = [:]
  private var memory = 0
  /// The origins where nothing may start, with the uptimes of the next attempt.
  private(set) var closed: [String: Double] = [:]

  init(limits: TransferLimits) { self.limits = limits }

  mutating func add(_ entry: Entry) { waiting.append(entry) }

  /// Removes a waiting or running request.
  mutating func remove(_ id: Int) {
    if let index = waiting.firstIndex(where: { $0.id == id }) { waiting.remove(at: index) }
    guard let entry = running.removeValue(forKey: id) else { return }
    memory -= entry.memory
    Self.decrement(&runningByOrigin, entry.origin)
    Self.decrement(&runningByOwner, entry.owner)
  }

  /// Sets the priorities of all waiting requests.
  mutating func setPriorities(_ priority: (Entry) -> Int) {
    for index in waiting.indices { waiting[index].priority = priority(waiting[index]) }
  }

  /// Returns the requests that start now, in order, and counts them as running.
  ///
  /// `opening` returns nil if the host allows the request, or else the uptime of the next attempt.
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
    waiting.indices.filter { obstacle(waiting[$0], at: now) == nil }
      .min { isBefore(waiting[$0], waiting[$1]) }
  }

  /// Whether `left` starts before `right`.
  ///
  /// Among equals, the first one in `waiting` starts.
  private func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    func running(_ entry: Entry) -> Int { runningByOwner[entry.owner, default: 0] }
    return (right.priority, running(left), left.owner)
      < (left.priority, running(right), right.owner)
  }

  /// Returns why the waiting request `entry` cannot start, or nil if it can.
  func obstacle(_ entry: Entry, at now: Double) -> Obstacle? {
    if entry.notBefore > now { return .tooEarly(until: entry.notBefore) }
    if let until = closed[entry.origin] { return .hostPause(until: until) }
    let isAdditional = runningByOwner[entry.owner, default: 0] > 0
    let count = runningByOrigin[entry.origin, default: 0]
    let isShared = multiplexed.contains(entry.origin)
    // A request that shares a connection needs no new one.
    if !isShared || count == 0, connections >= places(limits.connections, isAdditional) {
      return .connections
    }
    if count >= places(requestsPerHost(isShared: isShared), isAdditional) {
      return .hostConnections
    }
    if !running.isEmpty, memory + entry.memory > limits.memory { return .memory }
    return nil
  }

  /// The connections in use; a host that answers over HTTP/2 counts as one.
  private var connections: Int {
    multiplexed.isEmpty
      ? running.count
      : runningByOrigin.reduce(0) { $0 + (multiplexed.contains($1.key) ? 1 : $1.value) }
  }

  private func requestsPerHost(isShared: Bool) -> Int {
    TransferLimits.bounded(limits.connectionsPerHost) * (isShared ? Self.streamsPerConnection : 1)
  }

  private func places(_ limit: Int, _ isAdditional: Bool) -> Int {
    max(1, limit) - (isAdditional ? max(1, limit) / 4 : 0)
  }

  /// Returns the waiting requests and the reasons why they wait.
  func obstacles(at now: Double) -> [(entry: Entry, obstacle: Obstacle?)] {
    waiting.map { ($0, obstacle($0, at: now)) }
  }

  /// Returns the next uptime at which a delayed request may start, or nil without one.
  func nextInstant(after now: Double) -> Double? {
    let instants = waiting.lazy.map(\.notBefore).filter { $0 > now } + closed.values
    return instants.min()
  }

  private static func decrement<Key: Hashable>(_ counts: inout [Key: Int], _ key: Key) {
    guard let count = counts[key] else { return }
    counts[key] = count > 1 ? count - 1 : nil
  }
}

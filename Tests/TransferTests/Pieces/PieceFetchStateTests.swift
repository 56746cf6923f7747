import HostedModel
import HostedDigests
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedTransfer

@Suite("The state machine of a fetch")
struct PieceFetchStateTests {
  // MARK: Every event in every state

  /// Four pieces at two mirrors; one request for two pieces at a time.
  private static func fetch() throws -> FetchModel {
    var configuration = HTTPConfiguration()
    configuration.minimumBytes = 5
    var model = try FetchModel(pieces: 4, mirrors: 2, configuration)
    model.limits.connectionsPerTransfer = 1
    model.limits.smallRequestsPerTransfer = 1
    return model
  }

  private static let states: [(name: String, events: [String])] = [
    ("new", []),
    ("authorizing", ["proceed"]),
    ("active", ["proceed", "granted"]),
    ("idle", ["proceed", "granted", "idle 1"]),
    ("authorizing a hedge", ["proceed", "granted", "idle 1", "proceed"]),
    ("hedged", ["proceed", "granted", "idle 1", "proceed", "granted"]),
    ("left", ["proceed", "granted", "right 1", "measure 1"]),
    ("stopped", ["proceed", "granted", "stop"]),
  ]

  /// The actions of each event, by state in the order of `states`.
  private static let table: [(event: String, actions: [String])] = [
    ("proceed", ["authorize 0", "", "", "authorize 1", "", "", "", ""]),
    (
      "granted",
      ["", "start 1 [0, 1] at 0", "", "", "start 2 [0, 1] at 1", "", "", ""]
    ),
    ("renewing", ["", "", "", "", "", "", "", ""]),
    ("idle 1", ["", "", "", "", "", "", "", ""]),
    ("idle 2", ["", "", "", "", "", "cancel 1", "", ""]),
    (
      "right 1",
      [
        "", "", "deliver [0], count 100 at 0", "deliver [0], count 100 at 0",
        "deliver [0], count 100 at 0", "deliver [0], count 100 at 0, cancel 2", "deliver []", "",
      ]
    ),
    ("right 2", ["", "", "", "", "", "deliver [0], count 100 at 1, cancel 1", "", ""]),
    (
      "wrong 1",
      ["", "", "deliver []", "deliver []", "deliver []", "deliver []", "deliver []", ""]
    ),
    ("end 1", ["", "", "", "", "", "", "", ""]),
    ("end 1 cutShort", ["", "", "", "", "", "", "", ""]),
    ("end 1 missing", ["", "", "", "", "", "", "", ""]),
    (
      "end 1 unreachable",
      ["", "", "host 0 refused", "host 0 refused", "host 0 refused", "", "", ""]
    ),
    (
      "end 1 cancelled",
      [
        "", "", "check, fail stopped", "check, fail stopped", "check, fail stopped", "", "", "",
      ]
    ),
    ("end 2 cutShort", ["", "", "", "", "", "", "", ""]),
    ("stop", ["", "", "cancel 1", "cancel 1", "cancel 1", "cancel 1, cancel 2", "cancel 1", ""]),
  ]

  @Test("Every event in every state has its actions, and a stopped fetch has none")
  func everyEvent() throws {
    for (place, state) in Self.states.enumerated() {
      for (event, actions) in Self.table {
        var model = try Self.fetch()
        for event in state.events { model.apply(event) }
        #expect(model.apply(event) == actions[place], "\(event) in the state \(state.name)")
      }
    }
  }

  @Test("After every event in every state, the fetch can be completed")
  func completion() throws {
    for state in Self.states.dropLast() {
      for (event, _) in Self.table where event != "stop" && event != "end 1 cancelled" {
        var model = try Self.fetch()
        for event in state.events { model.apply(event) }
        model.apply(event)
        model.complete()
        #expect(model.outcome == "finish", "\(event) in the state \(state.name)")
        #expect(model.delivered.sorted() == Array(0..<4))
        #expect(model.live.isEmpty)
      }
    }
  }

  // MARK: Ends

  @Test("A piece that stays wrong fails the fetch after its attempts, and cancels all requests")
  func wrongPiece() throws {
    var configuration = HTTPConfiguration()
    configuration.retry.attempts = 2
    var model = try FetchModel(pieces: 4, mirrors: 1, configuration)
    model.perform(model.state.proceed(model.conditions))
    #expect(model.live.count == 2)
    #expect(model.apply("wrong 1") == "deliver []")
    #expect(
      model.verify(1, [(1, true), (0, false)])
        == "deliver [1], cancel 1, cancel 2, fail pieceDamaged")
    #expect(model.state.isEnded)
  }

  @Test("A mirror that refuses two new grants is not used again")
  func refusedGrants() throws {
    var model = try FetchModel(pieces: 2, mirrors: 1, HTTPConfiguration())
    for grant in 1...2 {
      model.access = .init(grant: grant)
      model.perform(model.state.proceed(model.conditions))
      let end = model.end(.status(403))
      #expect(model.state.refusedGrant(of: grant, end) == grant)
      #expect(model.state.refusedGrant(of: grant, model.end(.cutShort)) == nil)
      let actions = model.finish(grant, .status(403), isFirstRefusal: true)
      #expect(actions == (grant == 1 ? "" : "fail accessDenied"))
      model.now += 10
    }
  }

  @Test("A known refusal and an expired URL are neither attempts nor refusals of the mirror")
  func renewals() throws {
    var configuration = HTTPConfiguration()
    configuration.retry.attempts = 1
    var model = try FetchModel(pieces: 2, mirrors: 1, configuration)
    model.access = .init(grant: 1)
    for number in 1...10 {
      model.perform(model.state.proceed(model.conditions))
      let isExpired = number.isMultiple(of: 2)
      let actions = model.finish(
        number, isExpired ? .expired : .status(403), isFirstRefusal: isExpired ? nil : false)
      #expect(actions == "")
    }
    model.complete()
    #expect(model.outcome == "finish")
  }

  @Test("A host that refuses requests is asked until the busy timeout")
  func busyHost() throws {
    var model = try FetchModel(pieces: 2, mirrors: 1, HTTPConfiguration())
    var number = 0
    let timeout = HTTPConfiguration().retry.busyTimeout
    while model.outcome == nil, number < 100 {
      number += 1
      model.perform(model.state.proceed(model.conditions))
      let fault = TransferFault(.status(429))
      model.hosts[0].pause = model.hosts[0].pause ?? HostPause(fault)
      model.hosts[0].pause?.refuse(
        number, fault, startedAt: model.now, at: model.now, RetryPolicy(), random: 1)
      model.finish(number, .status(429))
      model.now += 10
    }
    #expect(model.outcome == "fail serverBusy")
    #expect(number == Int(timeout / 10) + 1)
  }

  // MARK: Random events

  @Test(
    "Any events end with each piece delivered once, or with an error, and without requests",
    arguments: 0..<UInt64(SlowTests.areOn ? 2000 : 200))
  func anyEvents(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var configuration = HTTPConfiguration()
    configuration.minimumBytes = 5
    configuration.retry.attempts = Int.random(in: 2...50, using: &random)
    let count = Int.random(in: 1...40, using: &random)
    var model = try FetchModel(
      pieces: count, mirrors: Int.random(in: 1...3, using: &random), configuration)
    model.limits.connectionsPerTransfer = Int.random(in: 1...4, using: &random)
    model.limits.smallRequestsPerTransfer = Int.random(in: 1...6, using: &random)
    var disturbances = Int.random(in: 0...60, using: &random)
    let isDisturbed = disturbances > 0
    let limit = 20 * (count + disturbances) + 100
    var steps = 0
    while model.outcome == nil, steps < limit {
      steps += 1
      model.now += Double.random(in: 0...4, using: &random)
      model.disturb(&disturbances, &random)
      model.perform(model.state.proceed(model.conditions))
      #expect(model.outcome != nil || model.isWaiting, "It is stuck")
    }
    #expect(model.outcome == "finish" || (isDisturbed && model.outcome != nil), "\(steps) steps")
    #expect(model.live.isEmpty)
    if model.outcome == "finish" { #expect(model.delivered.sorted() == Array(0..<count)) }
  }
}

/// A fetch whose actions are performed by a model of servers; it checks what must always hold.
private struct FetchModel {
  var state: PieceFetchState
  var limits = TransferLimits()
  var hosts: [HostStatus]
  var now = 100.0
  /// The URL that is granted, or nil during a renewal.
  var access: PieceFetchState.Access? = .init()
  /// The requests that have neither ended nor were cancelled, and the pieces that they brought.
  private(set) var live: [Int: (request: PieceRequest, next: Int)] = [:]
  /// All requests so far.
  private var sent: [Int: PieceRequest] = [:]
  /// The cancelled requests that have not ended.
  private var cancelled: Set<Int> = []
  private(set) var delivered: [Int] = []
  /// How the fetch has ended, or nil.
  private(set) var outcome: String?
  private let retry: RetryPolicy
  private let url: WebURL

  /// Creates a fetch of pieces of 100 bytes, at most two of which are requested at once.
  init(pieces count: Int, mirrors: Int, _ configuration: HTTPConfiguration) throws {
    let digest = try Digest(of: [UInt8]())
    let pieces = (0..<count).map { Piece(offset: Int64($0 * 100), length: 100, digest: digest) }
    let addresses = try (0..<mirrors).map { try WebURL("http://mirror\($0).example/file") }
    let sizes = FetchPlan.Sizes(gap: 0, edge: 0, minimum: 200, maximum: 200)
    let file = SignedFile(path: "file", length: Int64(count * 100), digest: digest)
    retry = configuration.retry
    url = addresses[0]
    hosts = Array(repeating: HostStatus(), count: mirrors)
    state = PieceFetchState(
      pieces, of: file, at: addresses, rates: Array(repeating: nil, count: mirrors),
      configuration, sizes: sizes, now: now)
  }

  private var isRenewing: Bool { access == nil }

  /// Whether an event will come.
  var isWaiting: Bool { isRenewing || !live.isEmpty || !cancelled.isEmpty }

  var conditions: PieceFetchState.Conditions {
    .init(now: now, random: 0.5, limits: limits, hosts: hosts)
  }

  func end(_ kind: TransferFault.Kind?) -> ExchangeEnd {
    ExchangeEnd(fault: kind.map { TransferFault($0) }, url: url, startedAt: now - 1)
  }

  // MARK: Events

  /// Applies the event with a name of the tables, and returns the actions.
  ///
  /// `proceed` is not followed by the answer to its action.
  @discardableResult mutating func apply(_ event: String) -> String {
    let words = event.split(separator: " ").map(String.init)
    let number = words.count > 1 ? Int(words[1]) ?? 0 : 0
    switch words[0] {
    case "proceed": return record(state.proceed(conditions))
    case "granted": return record(state.authorized(.init(), conditions))
    case "renewing": return record(state.authorized(nil, conditions))
    case "idle":
      let bytes = [UInt8](repeating: 1, count: 10 * number)
      return perform(state.idle(number, PartialPiece(index: 0, bytes: bytes), conditions))
    case "right": return verify(number, [(0, true)])
    case "wrong": return verify(number, [(0, false)])
    case "measure":
      now += 10
      return verify(number, [])
    case "stop":
      let text = perform(state.stop())
      outcome = "stop"
      return text
    case "end":
      let kinds: [String: TransferFault.Kind] = [
        "cutShort": .cutShort, "missing": .status(404), "unreachable": .refused,
        "cancelled": .cancelled,
      ]
      return finish(number, words.count > 2 ? kinds[words[2]] : nil)
    default: return "unknown event"
    }
  }

  /// Verifies pieces of request `number`, by their index in it.
  @discardableResult mutating func verify(_ number: Int, _ pieces: [(index: Int, isRight: Bool)])
    -> String
  {
    perform(
      state.verified(
        pieces.map { ($0.index, $0.isRight ? nil : TransferFault(.damaged)) },
        of: number))
  }

  /// Ends request `number`.
  @discardableResult mutating func finish(
    _ number: Int, _ kind: TransferFault.Kind?, isFirstRefusal: Bool? = nil
  ) -> String {
    live[number] = nil
    cancelled.remove(number)
    return perform(
      state.ended(
        number, .init(end: end(kind), received: 100, isFirstRefusal: isFirstRefusal), conditions))
  }

  /// Lets the servers send everything.
  mutating func complete() {
    for _ in 0..<100 where outcome == nil {
      // The table leaves an action without an answer.
      perform(state.authorized(.init(), conditions))
      perform(state.proceed(conditions))
      for number in cancelled.sorted() { finish(number, .cancelled) }
      guard let number = live.keys.min() else { continue }
      send(number, 100)
      finish(number, nil)
    }
  }

  /// Sends up to `count` more pieces of request `number`.
  mutating func send(_ number: Int, _ count: Int, isRight: Bool = true) {
    guard let (request, next) = live[number] else { return }
    let end = min(next + count, request.pieces.count)
    live[number]?.next = end
    verify(number, state.missing(next..<end, of: number).map { ($0, isRight) })
  }

  /// Lets one random event happen.
  mutating func disturb(_ left: inout Int, _ random: inout SplitMix) {
    if isRenewing { return access = .init(grant: 1) }
    if let number = cancelled.min(), Bool.random(using: &random) {
      finish(number, .cancelled)
      return
    }
    guard let number = live.keys.sorted().randomElement(using: &random),
      let (request, next) = live[number]
    else { return }
    if next == request.pieces.count {
      finish(number, nil)
      return
    }
    guard left > 0, Bool.random(using: &random) else { return send(number, 1) }
    left -= 1
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      let bytes = [UInt8](repeating: 1, count: Int.random(in: 1..<100, using: &random))
      perform(state.idle(number, PartialPiece(index: next, bytes: bytes), conditions))
    case 1: send(number, 1, isRight: false)
    case 2: access = nil
    case 3: finish(number, nil)
    default:
      let kinds: [TransferFault.Kind] = [
        .cutShort, .stalled, .refused, .connectTimeout, .rangeIgnored, .otherValidator,
        .status(500), .status(503), .status(404), .status(403), .expired, .garbled,
      ]
      let kind = kinds.randomElement(using: &random) ?? .cutShort
      let isRefused = state.refusedGrant(of: number, end(kind)) != nil
      finish(number, kind, isFirstRefusal: isRefused ? Bool.random(using: &random) : nil)
    }
  }

  // MARK: Actions

  /// Performs actions and their results, and returns them as text.
  @discardableResult mutating func perform(_ decided: [PieceFetchState.Action]) -> String {
    var actions = decided[...]
    var texts: [String] = []
    while let action = actions.popFirst() {
      #expect(outcome == nil, "An action follows the end")
      texts.append(text(action))
      switch action {
      case .authorize:
        actions += state.authorized(access, conditions)
      case .start(let request, let beginning): start(request, beginning)
      case .cancel(let number):
        #expect(live[number] != nil || cancelled.contains(number), "\(number) is not known")
        if live.removeValue(forKey: number) != nil { cancelled.insert(number) }
      case .deliver(let delivery):
        note(delivery)
        actions += state.delivered(delivery, conditions)
      case .noteHost(let mirror, let fault, let start):
        guard let fault else {
          hosts[mirror].health = Health()
          break
        }
        hosts[mirror].health.fail(fault, startedAt: start, now: now, retry, random: 0.5)
      case .finish: outcome = "finish"
      case .fail: outcome = text(action)
      case .count, .noteRate, .checkCancelled: break
      }
    }
    return texts.joined(separator: ", ")
  }

  /// Records actions without a result, and returns them as text.
  private mutating func record(_ actions: [PieceFetchState.Action]) -> String {
    for action in actions {
      switch action {
      case .start(let request, let beginning): start(request, beginning)
      case .finish: outcome = "finish"
      case .authorize, .cancel, .deliver, .count, .noteHost, .noteRate, .checkCancelled, .fail:
        break
      }
    }
    return actions.map(text).joined(separator: ", ")
  }

  private mutating func start(_ request: PieceRequest, _ beginning: [UInt8]) {
    #expect(request.pieces == request.pieces.sorted() && !request.pieces.isEmpty)
    #expect(Set(request.pieces).isDisjoint(with: delivered), "A verified piece is fetched again")
    let others = live.values.filter { !Set(request.pieces).isDisjoint(with: $0.request.pieces) }
    #expect(others.count <= 1, "Three requests fetch one piece")
    #expect(beginning.isEmpty || !request.isWhole)
    live[request.number] = (request, 0)
    sent[request.number] = request
  }

  private mutating func note(_ delivery: PieceFetchState.Delivery) {
    guard let request = sent[delivery.request] else { return }
    for index in delivery.indices {
      #expect(!delivered.contains(request.pieces[index]), "A piece is delivered twice")
      delivered.append(request.pieces[index])
    }
  }

  private func text(_ action: PieceFetchState.Action) -> String {
    switch action {
    case .authorize(let mirror, _): "authorize \(mirror)"
    case .start(let request, _): "start \(request.number) \(request.pieces) at \(request.mirror)"
    case .cancel(let number): "cancel \(number)"
    case .deliver(let delivery): "deliver \(delivery.indices)"
    case .count(let bytes, let mirror): "count \(bytes) at \(mirror)"
    case .noteHost(let mirror, let fault, _): "host \(mirror) \(fault?.name ?? "answers")"
    case .noteRate(let mirror, _): "rate of \(mirror)"
    case .checkCancelled: "check"
    case .finish: "finish"
    case .fail(let error): "fail \(Self.names[error.code] ?? error.message)"
    }
  }

  private static let names: [ContentError.Code: String] = [
    .stopped: "stopped", .pieceDamaged: "pieceDamaged", .accessDenied: "accessDenied",
    .serverBusy: "serverBusy",
  ]
}

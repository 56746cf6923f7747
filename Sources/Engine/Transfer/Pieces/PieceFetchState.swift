import HostedHTTPValues
import HostedModel

/// Decides what one fetch requests, delivers, cancels and retries.
///
/// Pure: no clock, I/O, locks or randomness. `PieceFetch` passes each event to one method, performs
/// the returned actions in order, and calls `proceed` when it has no more events. Every event is
/// allowed in every state; one that has no meaning in a state changes nothing. A request whose host
/// is delayed is started with a time, and waits in `TransferSchedule`.
struct PieceFetchState {
  // MARK: Actions

  /// What `PieceFetch` does for a decision.
  enum Action {
    /// Get the file's URL at `mirror` for a request that takes `seconds`, and call `authorized`.
    case authorize(mirror: Int, seconds: Double)
    /// Send the request to the URL that was granted last.
    ///
    /// `beginning` are bytes of its first piece from another request.
    case start(PieceRequest, beginning: [UInt8])
    /// Cancel request `number`.
    case cancel(Int)
    /// Deliver verified pieces, and then call `delivered`.
    case deliver(Delivery)
    /// Count verified bytes in the statistics.
    case count(bytes: Int64, mirror: Int)
    /// Record for all transfers that the host of `mirror` answered (nil), or did not.
    case noteHost(mirror: Int, TransferFault?, startedAt: Double)
    /// Record for all transfers the rate of the host of `mirror`, in bytes per second.
    case noteRate(mirror: Int, Double)
    /// Throw the error of the ticket if it was cancelled.
    case checkCancelled
    /// Return: each piece was delivered.
    case finish
    /// Throw the error.
    case fail(ContentError)
  }

  /// The verified pieces of one slab.
  struct Delivery: Hashable {
    /// The number of their request.
    let request: Int
    /// The pieces, by their index in the request.
    var indices: [Int] = []
    /// The number of wrong pieces in the slab.
    var wrong = 0
  }

  // MARK: Inputs

  /// What the session knows at the time of an event.
  struct Conditions {
    /// The uptime in seconds.
    var now: Double
    /// A number from 0 to 1 that spreads retries.
    var random: Double
    var limits = TransferLimits()
    /// The state of each mirror's host.
    var hosts: [HostStatus]
  }

  /// A URL for one request.
  struct Access: Hashable {
    /// The number of its grant, or nil if the URL does not expire.
    var grant: Int?
    /// The uptime from which no request may start.
    var expiresAt = Double.infinity
  }

  /// The verdict about a piece that has arrived, by its index in its request; nil if it is right.
  typealias Verdict = (index: Int, fault: TransferFault?)

  /// The end of a request.
  struct Ending {
    let end: ExchangeEnd
    /// The received bytes of its body.
    var received: Int64 = 0
    /// Whether this is the first refusal of the grant from `refusedGrant`; nil without that grant.
    var isFirstRefusal: Bool?
  }

  // MARK: State

  private enum Phase {
    /// Requests run or wait, or URLs are renewed; then `authorizing` or `ended`.
    case running
    /// An `authorize` action is performed; then `running` or `ended`.
    case authorizing(Purpose)
    /// The fetch has finished or failed, or was stopped; no state follows.
    case ended
  }

  /// What a URL is needed for.
  private enum Purpose {
    /// The next waiting pieces.
    case pieces(MirrorChoice)
    /// The missing pieces of request `idle`, which has the partial piece.
    case hedge(idle: Int, PartialPiece?, mirror: Int)
  }

  /// A request that has not ended.
  private struct Running {
    let request: PieceRequest
    /// The number of the URL's grant.
    let grant: Int?
    /// The uptime at which it was submitted.
    let startedAt: Double
    /// The bytes of its first piece that came with the idle request before it.
    let bytesBefore: Int
    /// The number of its right and wrong pieces.
    var delivered = 0
    var wrong = 0
    var activity = Activity.active

    var isLeft: Bool { if case .left = activity { true } else { false } }
  }

  private enum Activity {
    /// It waits, or bytes arrive; then `idle` or `left`.
    case active
    /// No byte has arrived for a while, and no second request was considered since.
    ///
    /// It has the bytes of its first missing piece. Then `active` or `left`.
    case idle(PartialPiece?)
    /// It was cancelled because another mirror is faster; arrived pieces and its end follow.
    case left
  }

  /// The bytes that arrive in less time than a round trip.
  private static let smallRemainder: Int64 = 256 << 10

  private let file: SignedFile
  /// The addresses of the mirrors, for messages.
  private let addresses: [WebURL]
  private let retry: RetryPolicy
  private let minimumBytes: Int64

  private var phase = Phase.running
  private var plan: FetchPlan
  private var requests: [Int: Running] = [:]
  private var lastNumber = 0
  private var mirrors: MirrorBook
  private var wrongPieces: WrongPieces
  private var hedges = HedgedRequests()
  private var rate = RequestRate()
  private var bytesLeft: Int64
  /// The uptime of the last delivered piece, or of the start.
  private var lastProgress: Double

  /// Starts a fetch of `pieces` at uptime `now`; `rates` are those of earlier fetches, by mirror.
  ///
  /// The pieces are sorted, not empty and do not overlap.
  init(
    _ pieces: [Piece], of file: SignedFile, at addresses: [WebURL], rates: [Double?],
    _ configuration: HTTPConfiguration, sizes: FetchPlan.Sizes = FetchPlan.Sizes(), now: Double
  ) {
    self.file = file
    self.addresses = addresses
    retry = configuration.retry
    minimumBytes = configuration.minimumBytes
    plan = FetchPlan(pieces, sizes: sizes)
    mirrors = MirrorBook(rates: rates)
    wrongPieces = WrongPieces(addresses: addresses.count)
    bytesLeft = pieces.reduce(0) { $0 + Int64($1.length) }
    lastProgress = now
  }

  /// Whether the fetch has finished or failed, or was stopped.
  var isEnded: Bool { if case .ended = phase { true } else { false } }

  // MARK: Events: requests

  /// All events so far were handled.
  ///
  /// Returns the action for the next request, or for the end. Without an action, wait for an event.
  mutating func proceed(_ conditions: Conditions) -> [Action] {
    switch phase {
    case .authorizing, .ended: []
    case .running where plan.left == 0: finish(conditions)
    case .running: ask(conditions) ?? hedge(conditions) ?? []
    }
  }

  /// The URL of an `authorize` action can be used; if it is nil, `proceed` follows its renewal.
  mutating func authorized(_ access: Access?, _ conditions: Conditions) -> [Action] {
    guard case .authorizing(let purpose) = phase else { return [] }
    phase = .running
    switch purpose {
    case .pieces(let choice):
      guard let access else { return hedge(conditions) ?? [] }
      let start = startNext(choice, access, conditions)
      return start + proceed(conditions)
    case .hedge(let idle, let partial, let mirror):
      guard let access else { return [] }
      return startHedge(of: idle, partial, at: mirror, access, conditions)
    }
  }

  /// No byte has arrived for a while; the request has the bytes of `partial` of its next piece.
  mutating func idle(_ number: Int, _ partial: PartialPiece?, _ conditions: Conditions) -> [Action]
  {
    guard let running = requests[number], !running.isLeft else { return [] }
    requests[number]?.activity = .idle(partial)
    // If no piece is complete, each request continues where the previous one stopped.
    guard hedges.isSecond(number), isAhead(running, partial) else { return [] }
    return endCompetingRequest(of: number, conditions)
  }

  /// The fetch ends early: the ticket was cancelled, or an action failed.
  mutating func stop() -> [Action] {
    let cancels = requests.keys.sorted().map(Action.cancel)
    requests = [:]
    phase = .ended
    return cancels
  }

  // MARK: Starting requests

  /// Asks for the URL of a request for waiting pieces; nil if none is allowed now.
  private mutating func ask(_ conditions: Conditions) -> [Action]? {
    guard plan.hasWaiting else { return nil }
    let choice = mirrors.choose(conditions.hosts, at: conditions.now)
    guard mayAsk(at: choice.mirror, conditions) else { return nil }
    // One request is enough to find out whether a server has recovered.
    if choice.fault != nil, !requests.isEmpty { return nil }
    phase = .authorizing(.pieces(choice))
    return [.authorize(mirror: choice.mirror, seconds: rate.seconds(for: plan.nextLength))]
  }

  /// Whether another request is allowed, or so few bytes are requested that the server would idle.
  private func mayAsk(at mirror: Int, _ conditions: Conditions) -> Bool {
    // A whole file contains all pieces, so one request is enough.
    if !mirrors[mirror].ranges, requests.values.contains(where: \.request.isWhole) { return false }
    if requests.count < connections(at: mirror, conditions).count { return true }
    return requests.count < conditions.limits.smallRequestsPerTransfer
      && requests.values.reduce(0) { $0 + Int64(plan.span(of: $1.request.pieces).count) }
        < Self.smallRemainder
  }

  private func connections(at mirror: Int, _ conditions: Conditions) -> (count: Int, insteadOf: Int)
  {
    conditions.hosts[mirror].connections(conditions.limits)
  }

  private mutating func startNext(
    _ choice: MirrorChoice, _ access: Access, _ conditions: Conditions
  ) -> [Action] {
    let (mirror, ranges) = (choice.mirror, mirrors[choice.mirror].ranges)
    let connections = connections(at: mirror, conditions)
    let lifetime = access.expiresAt - max(conditions.now, choice.notBefore)
    let pieces =
      ranges
      ? plan.next(connections: connections.count, limit: rate.bytes(in: lifetime))
      : plan.takeAll()
    guard let pieces, !pieces.isEmpty else { return [] }
    var request = PieceRequest(pieces: pieces, mirror: mirror)
    request.isWhole = !ranges || plan.isWhole(pieces, of: file.length)
    request.insteadOf = ranges ? connections.insteadOf : 1
    request.isFresh = mirrors[mirror].needsConnection
    request.notBefore = choice.notBefore
    request.delay = choice.fault
    return [start(request, access, conditions)]
  }

  private mutating func start(
    _ request: PieceRequest, beginning: [UInt8] = [], bytesBefore: Int = 0, _ access: Access,
    _ conditions: Conditions
  ) -> Action {
    lastNumber += 1
    var request = request
    request.number = lastNumber
    request.range = plan.span(of: request.pieces).dropFirst(beginning.count)
    request.validator = request.isWhole ? nil : mirrors[request.mirror].validator
    request.usesSecondConnection = needsSecondConnection(for: request.range.count)
    requests[lastNumber] = Running(
      request: request, grant: access.grant, startedAt: conditions.now, bytesBefore: bytesBefore)
    return .start(request, beginning: beginning)
  }

  /// Whether another request for `count` bytes uses the second connection to its host.
  ///
  /// A connection delivers at most its window per round trip, for all requests that share it. For
  /// few bytes, another connection is not worth its handshake.
  private func needsSecondConnection(for count: Int) -> Bool {
    count >= 4 << 20
      && requests.values.reduce(0) { $0 + ($1.request.usesSecondConnection ? -1 : 1) } > 0
  }

  // MARK: Hedged requests

  /// Asks for the URL of a second request for the pieces of an idle request.
  ///
  /// Nil without an idle request, if too many were useless, or if all mirrors are busy.
  private mutating func hedge(_ conditions: Conditions) -> [Action]? {
    guard !hedges.isActive, let (number, running, partial) = firstIdle else { return nil }
    requests[number]?.activity = .active
    let missing = missing(of: running)
    let second = mirrors.second(
      besides: running.request.mirror, isWhole: plan.isWhole(missing, of: file.length),
      conditions.hosts, at: conditions.now)
    guard !missing.isEmpty, let second, hedges.allowsMore(length: file.length) else { return nil }
    phase = .authorizing(.hedge(idle: number, partial, mirror: second))
    return [.authorize(mirror: second, seconds: 0)]
  }

  private var firstIdle: (number: Int, Running, PartialPiece?)? {
    for (number, running) in requests.sorted(by: { $0.key < $1.key }) {
      if case .idle(let partial) = running.activity { return (number, running, partial) }
    }
    return nil
  }

  private func missing(of running: Running) -> [Int] {
    running.request.pieces.filter { !plan.isDone($0) }
  }

  private mutating func startHedge(
    of number: Int, _ partial: PartialPiece?, at mirror: Int, _ access: Access,
    _ conditions: Conditions
  ) -> [Action] {
    guard let idle = requests[number] else { return [] }
    let missing = missing(of: idle)
    guard !missing.isEmpty else { return [] }
    var begun: [UInt8] = []
    if let partial, idle.request.pieces[partial.index] == missing.first { begun = partial.bytes }
    // Only at the same mirror, so that a wrong piece can be attributed to its sender.
    let isSame = mirror == idle.request.mirror && mirrors[mirror].ranges
    let beginning = isSame ? begun : []
    var request = PieceRequest(pieces: missing, mirror: mirror)
    request.isWhole = beginning.isEmpty && plan.isWhole(missing, of: file.length)
    request.insteadOf = connections(at: mirror, conditions).insteadOf
    request.isFresh = true
    let start = start(
      request, beginning: beginning, bytesBefore: begun.count, access, conditions)
    hedges.begin(idle: number, second: lastNumber)
    return [start]
  }

  /// A request can be continued if it brought at least one part in this many of its first piece.
  private static let minimumShare = 20

  /// Whether a request brought enough of its first piece for another request to continue it.
  ///
  /// The share limits the number of requests for one piece, so that a server that sends a few bytes
  /// per request is given up. Complete pieces count when they are verified.
  private func isAhead(_ running: Running, _ partial: PartialPiece?) -> Bool {
    guard let partial, partial.index == 0 else { return false }
    let share = plan.pieces[running.request.pieces[0]].length / Self.minimumShare
    return Int64(partial.bytes.count - running.bytesBefore) >= max(minimumBytes, Int64(share))
  }

  /// Cancels the other request for the same pieces, since request `number` has delivered some.
  private mutating func endCompetingRequest(of number: Int, _ conditions: Conditions) -> [Action] {
    guard let (isSecond, competing) = hedges.end(number),
      let lost = requests.removeValue(forKey: competing)
    else { return [] }
    if !isSecond { hedges.lose(competing) }
    let (cancel, mirror) = ([Action.cancel(competing)], lost.request.mirror)
    guard isSecond, mirror != requests[number]?.request.mirror else { return cancel }
    return cancel + fail(mirror, TransferFault(.stalled), since: lost.startedAt, conditions)
  }

  // MARK: Events: pieces

  /// Returns the pieces that are missing among those of a slab of request `number`.
  ///
  /// The pieces are indices in the request. Only these are verified.
  func missing(_ indices: Range<Int>, of number: Int) -> [Int] {
    guard let pieces = requests[number]?.request.pieces else { return [] }
    return indices.filter { !plan.isDone(pieces[$0]) }
  }

  /// Pieces of request `number` were verified.
  mutating func verified(_ verdicts: [Verdict], of number: Int) -> [Action] {
    guard let running = requests[number] else { return [] }
    let request = running.request
    var delivery = Delivery(request: number)
    for verdict in verdicts {
      let piece = request.pieces[verdict.index]
      if plan.isDone(piece) { continue }
      guard let fault = verdict.fault else {
        plan.complete(piece)
        delivery.indices.append(verdict.index)
        continue
      }
      delivery.wrong += 1
      wrongPieces.add(piece, at: request.mirror)
      if let error = failure(of: piece, fault, at: request.mirror) {
        return [.deliver(delivery)] + end(error)
      }
    }
    requests[number]?.delivered += delivery.indices.count
    requests[number]?.wrong += delivery.wrong
    return [.deliver(delivery)]
  }

  /// The pieces of a slab were delivered.
  mutating func delivered(_ delivery: Delivery, _ conditions: Conditions) -> [Action] {
    guard let request = requests[delivery.request]?.request else { return [] }
    var actions: [Action] = []
    let bytes = delivery.indices.reduce(0) { $0 + Int64(plan.pieces[request.pieces[$1]].length) }
    bytesLeft -= bytes
    if !delivery.indices.isEmpty {
      lastProgress = conditions.now
      actions.append(.count(bytes: bytes, mirror: request.mirror))
      if case .idle = requests[delivery.request]?.activity {
        requests[delivery.request]?.activity = .active
      }
      actions += endCompetingRequest(of: delivery.request, conditions)
    }
    if delivery.wrong > 0 { actions += judgeWrongPieces(of: delivery.request, conditions) }
    if isEnded { return actions }
    return actions + leaveSlowMirror(request.mirror, after: bytes, conditions)
  }

  /// Ends request `number` if it brings another file, and fails if every mirror does.
  private mutating func judgeWrongPieces(of number: Int, _ conditions: Conditions) -> [Action] {
    if wrongPieces.areSeveral(at: mirrors.open) { return end(.replaced(file)) }
    guard let running = requests[number], running.wrong >= WrongPieces.limit else { return [] }
    requests[number] = nil
    if hedges.end(number) == nil { plan.putBack(running.request.pieces) }
    return [.cancel(number)]
      + fail(running.request.mirror, TransferFault(.damaged), since: running.startedAt, conditions)
  }

  /// Cancels requests at `mirror` if another mirror is much faster.
  private mutating func leaveSlowMirror(
    _ mirror: Int, after bytes: Int64, _ conditions: Conditions
  ) -> [Action] {
    let limits = conditions.limits
    guard addresses.count > 1, limits.bytesPerSecond == nil, limits.bytesPerSecondPerHost == nil,
      let measurement = mirrors.count(
        bytes, from: mirror, bytesLeft: bytesLeft, conditions.hosts, at: conditions.now)
    else { return [] }
    var actions = [Action.noteRate(mirror: mirror, measurement.rate)]
    guard measurement.isLeft else { return actions }
    for number in requests.keys.sorted() where requests[number]?.request.mirror == mirror {
      requests[number]?.activity = .left
      actions.append(.cancel(number))
    }
    return actions
  }

  /// Counts a failed attempt for a piece, and returns the error if the limit is reached.
  private mutating func failure(of piece: Int, _ fault: TransferFault, at mirror: Int)
    -> ContentError?
  {
    let attempts = plan.fail(piece)
    // Try each mirror at least once.
    guard attempts >= max(retry.attempts, addresses.count) else { return nil }
    if fault.kind == .damaged {
      return .damaged(plan.pieces[piece], of: file, attempts: attempts)
    }
    return ContentError(fault, from: addresses[mirror], subject: file.path)
  }

  /// Delays the next request to `mirror` after a request that was sent at `start`.
  private mutating func fail(
    _ mirror: Int, _ fault: TransferFault, since start: Double, _ conditions: Conditions
  ) -> [Action] {
    // All transfers wait for a host that cannot be reached.
    guard !fault.concernsHost else { return [.noteHost(mirror: mirror, fault, startedAt: start)] }
    mirrors[mirror].health.fail(
      fault, startedAt: start, now: conditions.now, retry, random: conditions.random)
    return []
  }

  // MARK: Events: ends of requests

  /// Returns the grant that a server has refused with the answer to request `number`, if any.
  func refusedGrant(of number: Int, _ end: ExchangeEnd) -> Int? {
    guard let running = requests[number], !running.isLeft,
      case .status(let status) = end.fault?.kind, [401, 403, 410].contains(status)
    else { return nil }
    return running.grant
  }

  /// Request `number` has ended.
  ///
  /// Its pieces have arrived before.
  mutating func ended(_ number: Int, _ ending: Ending, _ conditions: Conditions) -> [Action] {
    hedges.count(ending.received, of: number)
    rate.measure(ending.received, since: ending.end.startedAt, at: conditions.now)
    guard let running = requests.removeValue(forKey: number) else { return [] }
    let pair = hedges.end(number)
    let missing = pair == nil ? plan.putBack(running.request.pieces) : nil
    if running.isLeft { return [] }
    guard let pair else { return settle(running, ending, missing, conditions) }
    return settle(running, ending, isSecond: pair.isSecond, conditions)
  }

  /// Handles the end of one of two requests for the same pieces, while the other one continues.
  ///
  /// It has delivered no piece. The failure of a second request is ignored.
  private mutating func settle(
    _ running: Running, _ ending: Ending, isSecond: Bool, _ conditions: Conditions
  ) -> [Action] {
    guard let fault = ending.end.fault else { return [] }
    let mirror = running.request.mirror
    if let actions = renew(after: fault, of: running, ending, conditions) { return actions }
    if fault.retryAction == .wholeFile { mirrors[mirror].ranges = false }
    if isSecond { return [] }
    mirrors[mirror].needsConnection = fault.mayBeOfAddress
    guard !fault.isRefusal, let piece = missing(of: running).first,
      let error = failure(of: piece, fault, at: mirror)
    else { return [] }
    return end(error)
  }

  /// Handles the end of a request; `missing` is its first piece that was put back.
  private mutating func settle(
    _ running: Running, _ ending: Ending, _ missing: Int?, _ conditions: Conditions
  ) -> [Action] {
    let (end, mirror) = (ending.end, running.request.mirror)
    var actions: [Action] = []
    if let head = end.head, end.fault == nil { mirrors[mirror].learn(head) }
    let hasProgress = running.delivered > 0
    if hasProgress {
      mirrors.succeed(at: mirror)
      actions.append(.noteHost(mirror: mirror, nil, startedAt: end.startedAt))
    }
    guard missing != nil || end.fault != nil else { return actions }
    if let fault = end.fault { mirrors[mirror].needsConnection = fault.mayBeOfAddress }
    // A range that is shorter than requested is valid if it contains a piece.
    let isDamaged = running.wrong > 0
    let short: TransferFault.Kind =
      end.head?.isPage == true ? .unexpectedType("text/html") : .cutShort
    let silent = TransferFault(isDamaged ? .damaged : short)
    guard let fault = end.fault ?? (hasProgress && !isDamaged ? nil : silent) else {
      return actions
    }
    return actions + conclude(fault, running, ending, missing, conditions)
  }

  /// Decides what follows from `fault`, with which a request has ended.
  private mutating func conclude(
    _ fault: TransferFault, _ running: Running, _ ending: Ending, _ missing: Int?,
    _ conditions: Conditions
  ) -> [Action] {
    let (end, mirror) = (ending.end, running.request.mirror)
    if let actions = renew(after: fault, of: running, ending, conditions) { return actions }
    // The host's pause delays the next request.
    if fault.isRefusal,
      !conditions.hosts[mirror].isBusyTooLong(since: lastProgress, at: conditions.now, retry)
    {
      return []
    }
    var actions: [Action] = []
    switch fault.retryAction {
    case _ where fault.isRefusal, .none:
      return [.checkCancelled] + self.end(ContentError(fault, from: end.url, subject: file.path))
    case .wholeFile where mirrors[mirror].ranges:
      mirrors[mirror].ranges = false
      return []
    case .plainRange where mirrors[mirror].validator != nil:
      mirrors[mirror].usesValidator = false
      return []
    case .elsewhere:
      actions += fail(mirror, fault, since: end.startedAt, conditions)
      mirrors.refuse(at: mirror, startedAt: end.startedAt, now: conditions.now)
      guard mirrors.allRefuse else { return actions }
      return actions + self.end(ContentError(fault, from: end.url, subject: file.path))
    case .otherMirror, .later, .wholeFile, .plainRange: break
    }
    // Damage was already counted when it was found.
    if let missing, fault.kind != .damaged,
      let error = failure(of: missing, fault, at: mirror)
    {
      return self.end(error)
    }
    // A request that delivered pieces before it was interrupted is continued at once.
    if running.delivered > 0, fault.retryAction == .later, fault.retryAfter == nil { return [] }
    return fail(mirror, fault, since: end.startedAt, conditions)
  }

  /// Handles a fault of the URL; nil if the fault has nothing to do with the URL.
  ///
  /// The request is sent again with a new URL. This is not an attempt, and does not delay the
  /// mirror. A mirror that refuses two new grants in a row is not used again.
  private mutating func renew(
    after fault: TransferFault, of running: Running, _ ending: Ending, _ conditions: Conditions
  ) -> [Action]? {
    guard running.grant != nil else { return nil }
    if fault.kind == .expired { return [] }
    guard let isFirst = ending.isFirstRefusal, case .status(let status) = fault.kind else {
      return nil
    }
    guard isFirst else { return [] }
    mirrors.refuse(
      at: running.request.mirror, startedAt: ending.end.startedAt, now: conditions.now)
    guard mirrors.allRefuse else { return [] }
    return end(
      ContentError(
        .accessDenied,
        "\(ending.end.url) was answered with status \(status), even with a new URL",
        remedy: "Ask the store's owner to check the secret and the clock of the content server",
        subject: file.path))
  }

  // MARK: The end

  private mutating func finish(_ conditions: Conditions) -> [Action] {
    let rates = mirrors.pace.lastRates(at: conditions.now)
    return rates.map { .noteRate(mirror: $0.mirror, $0.rate) } + stop() + [.finish]
  }

  private mutating func end(_ error: ContentError) -> [Action] { stop() + [.fail(error)] }
}

/// A request for pieces, which `PieceFetchState` has decided.
struct PieceRequest: Hashable {
  /// The number of the request in its fetch, from 1.
  fileprivate(set) var number = 0
  /// The requested pieces in order, by their numbers in the fetch.
  let pieces: [Int]
  let mirror: Int
  /// The requested bytes.
  fileprivate(set) var range: Range<Int64> = 0..<0
  /// Whether the whole file is requested, without a range.
  fileprivate(set) var isWhole = false
  /// The value of `If-Range`, or nil for none.
  fileprivate(set) var validator: String?
  /// Whether the request needs a new connection, and a new lookup of the address.
  fileprivate(set) var isFresh = false
  /// The uptime before which it must not start, and the reason.
  fileprivate(set) var notBefore = 0.0
  fileprivate(set) var delay: TransferFault?
  /// Whether it must not share the connection of most requests.
  fileprivate(set) var usesSecondConnection = false
  /// The number of usual requests whose memory it has.
  fileprivate(set) var insteadOf = 1

  fileprivate init(pieces: [Int], mirror: Int) {
    self.pieces = pieces
    self.mirror = mirror
  }
}

/// The hedged requests of one fetch, for pieces of idle requests.
///
/// Pure. There is at most one pair of requests for the same pieces at a time. The first one to
/// deliver a piece continues, and the other one is cancelled.
private struct HedgedRequests {
  /// The maximum share of wasted bytes is one in this many.
  private static let lostShare: Int64 = 20

  private var pair: (idle: Int, second: Int)?
  /// The second requests that turned out useless and have not ended yet.
  private var lost: Set<Int> = []
  /// The bytes of useless second requests that have ended.
  private var lostBytes: Int64 = 0

  var isActive: Bool { pair != nil }

  /// Whether few enough bytes were wasted for another pair, in a file of `length` bytes.
  func allowsMore(length: Int64) -> Bool { lostBytes * Self.lostShare <= length }

  /// Records that `second` was sent for the pieces of `idle`.
  mutating func begin(idle: Int, second: Int) { pair = (idle, second) }

  /// Ends the pair if `number` belongs to it.
  ///
  /// Returns whether it is the second request, and the number of the other one.
  mutating func end(_ number: Int) -> (isSecond: Bool, other: Int)? {
    guard let pair, number == pair.idle || number == pair.second else { return nil }
    self.pair = nil
    let isSecond = number == pair.second
    return (isSecond, isSecond ? pair.idle : pair.second)
  }

  func isSecond(_ number: Int) -> Bool { pair?.second == number }

  /// Records that `second` was cancelled because the idle request continued.
  mutating func lose(_ second: Int) { lost.insert(second) }

  /// Records that `number` has ended with `received` bytes.
  mutating func count(_ received: Int64, of number: Int) {
    if lost.remove(number) != nil { lostBytes += received }
  }
}

/// The measured rate of one request, which limits what is requested before a URL expires.
///
/// Pure.
private struct RequestRate {
  /// In bytes per second, at first an assumption.
  private var rate = 256e3

  /// A range takes at most this share of the remaining lifetime.
  private static let usedShare = 0.8
  /// Fewer bytes measure the latency, not the rate.
  private static let minimumSample: Int64 = 64 << 10

  func seconds(for bytes: Int) -> Double { Double(bytes) / rate }

  /// Returns the bytes of a request for a URL that expires in `seconds`.
  func bytes(in seconds: Double) -> Int64 {
    Int64(min(max(0, seconds * rate * Self.usedShare), 1e15))
  }

  /// Measures a request that was sent at `start` and ended now.
  mutating func measure(_ received: Int64, since start: Double, at now: Double) {
    guard received >= Self.minimumSample, now > start else { return }
    rate = Double(received) / (now - start)
  }
}

import HostedHTTPValues
import HostedConcurrency
import HostedFileIO
import HostedModel

/// Fetches pieces over HTTP for one worker: requests ranges, verifies, delivers, retries.
///
/// `FetchPlan` decides what is requested, `MirrorChoice` where and when, and `TransferFault` how to
/// retry. Use it from one thread, which blocks in `run`.
final class PieceFetch {
  /// The bytes that arrive in less time than a round trip.
  private static let smallRemainder = 256 << 10

  private let file: SignedFile
  private var urls: RequestURLs
  private let session: HTTPSession
  private let ticket: TransferTicket
  private let handover = Handover()
  private let slabs: SlabPool
  private var plan: FetchPlan
  private var mirrors: MirrorBook
  private var wrongPieces: WrongPieces
  private var requests: [Int: PieceRequest] = [:]
  private var nextNumber = 0
  private var hedges = HedgedRequests()
  private var bytesLeft: Int64
  /// The uptime of the last piece, or of the start.
  private var lastProgress = 0.0

  init(
    _ pieces: [Piece], of file: SignedFile, from urls: RequestURLs, session: HTTPSession,
    ticket: TransferTicket
  ) {
    self.file = file
    self.urls = urls
    self.session = session
    self.ticket = ticket
    slabs = SlabPool(of: session.slabs)
    plan = FetchPlan(pieces)
    bytesLeft = pieces.reduce(0) { $0 + Int64($1.length) }
    mirrors = MirrorBook(urls.addresses, session)
    wrongPieces = WrongPieces(addresses: urls.addresses.count)
  }

  /// Fetches all pieces, as described in `PieceSource`.
  func run(_ deliver: (Piece, LentBytes) throws -> Void) throws {
    lastProgress = session.loop.clock.uptime()
    let listener = ticket.addListener { [handover] in handover.add(.cancelled) }
    defer {
      ticket.removeListener(listener)
      for request in requests.values { session.loop.cancel(request.id) }
    }
    while plan.left > 0 {
      try ask()
      try hedgeIdleRequest()
      for event in handover.takeAll() {
        switch event {
        case .pieces(let number, let slab): try take(slab, of: number, deliver)
        case .idle(let number, let partial): noteIdle(number, partial)
        case .ended(let number, let end, let received):
          hedges.count(received, of: number)
          urls.measure(received, since: end.startedAt, at: session.loop.clock.uptime())
          try settle(number, end)
        case .authorized: break
        case .cancelled: try ticket.checkCancelled()
        }
      }
    }
    mirrors.finish()
  }

  // MARK: Requests

  /// Sends as many requests as are allowed.
  private func ask() throws {
    while plan.hasWaiting {
      let now = session.loop.clock.uptime()
      let choice = mirrors.choose(at: now)
      let mirror = choice.mirror
      let (connections, insteadOf) = session.connections(to: urls.addresses[mirror])
      guard mayAsk(connections: connections) else { return }
      // One request is enough to find out whether a server has recovered.
      if choice.fault != nil, !requests.isEmpty { return }
      guard var request = try urls.request(at: mirror, plan.nextLength, handover) else { return }
      request.notBefore = choice.notBefore
      request.reason = choice.fault.map { TransferWait.Reason($0, from: urls.addresses[mirror]) }
      request.isFresh = mirrors[mirror].needsConnection
      if mirrors[mirror].ranges {
        let limit = urls.limit(of: request, at: now)
        guard let pieces = plan.next(connections: connections, limit: limit) else { return }
        send(
          request, for: pieces, at: mirror, isWhole: plan.isWhole(pieces, of: file.length),
          insteadOf: insteadOf)
      } else {
        // A whole file contains all pieces, so one request is enough.
        guard !requests.values.contains(where: { $0.exchange.range == nil }) else { return }
        send(request, for: plan.takeAll(), at: mirror, isWhole: true)
      }
    }
  }

  /// Whether another request is allowed, or so few bytes are requested that the server would idle.
  private func mayAsk(connections: Int) -> Bool {
    if requests.count < connections { return true }
    return requests.count < session.limits.smallRequestsPerTransfer
      && requests.values.reduce(0) { $0 + plan.span(of: $1.pieces).count } < Self.smallRemainder
  }

  /// Sends `exchange` for pieces, and returns the number of the request.
  @discardableResult private func send(
    _ exchange: ExchangeRequest, for numbers: [Int], beginning: [UInt8] = [], at mirror: Int,
    isWhole: Bool, insteadOf count: Int = 1
  ) -> Int {
    nextNumber += 1
    let pieces = numbers.map { plan.pieces[$0] }
    let sizes = SlabSizes(for: pieces, insteadOf: count)
    let validator = isWhole ? nil : mirrors[mirror].validator
    let question = RangeQuestion(
      range: plan.span(of: numbers).dropFirst(beginning.count), isWhole: isWhole,
      fileLength: file.length, validator: validator)
    let handler = RangeHandler(
      nextNumber, pieces, beginning: beginning, question: question, sizes: sizes,
      slabs: slabs, handover: handover, clock: session.loop.clock)
    var exchange = exchange
    exchange.range = isWhole ? nil : question.range
    if let validator { exchange.headers = [HTTPHeader("If-Range", validator)] }
    exchange.memory = sizes.memory
    exchange.usesSecondConnection = requests.values.useSecondConnection(for: question.range.count)
    var request = PieceRequest(
      handler: handler, pieces: numbers, mirror: mirror, exchange: exchange,
      askedAt: session.loop.clock.uptime())
    request.id = session.loop.submit(exchange, ticket: ticket, handler: handler)
    requests[nextNumber] = request
    return nextNumber
  }

  // MARK: Idle requests

  /// Records that request `number` is idle and has `partial` of a piece.
  private func noteIdle(_ number: Int, _ partial: PartialPiece?) {
    requests[number]?.isIdle = true
    requests[number]?.partial = partial
    // If no piece is complete, each request continues where the previous one stopped.
    let isAhead = requests[number]?.isAhead(in: plan.pieces, session.configuration) == true
    if hedges.isSecond(number), isAhead { endCompetingRequest(of: number) }
  }

  /// Sends a second request for the pieces of an idle request, unless too many were useless.
  private func hedgeIdleRequest() throws {
    guard !hedges.isActive, let (number, idle) = requests.first(where: { $0.value.isIdle })
    else { return }
    requests[number]?.isIdle = false
    let missing = idle.pieces.filter { !plan.isDone($0) }
    let isWhole = plan.isWhole(missing, of: file.length)
    let second = mirrors.second(
      besides: idle.mirror, isWhole: isWhole, at: session.loop.clock.uptime())
    guard !missing.isEmpty, let second, hedges.allowsMore(length: file.length),
      var request = try urls.request(at: second, 0, handover)
    else { return }
    request.isFresh = true
    // Only at the same mirror, so that a wrong piece can be attributed to its sender.
    let begun = idle.beginning(of: missing)
    let beginning = second == idle.mirror && mirrors[second].ranges ? begun : []
    let hedge = send(
      request, for: missing, beginning: beginning, at: second,
      isWhole: isWhole && beginning.isEmpty,
      insteadOf: session.connections(to: urls.addresses[second]).insteadOf)
    requests[hedge]?.bytesBefore = begun.count
    hedges.begin(idle: number, second: hedge)
  }

  /// Cancels the other request for the same pieces, since `number` has delivered some.
  private func endCompetingRequest(of number: Int) {
    guard let (part, competing) = hedges.end(number),
      let lost = requests.removeValue(forKey: competing)
    else { return }
    session.loop.cancel(lost.id)
    if part == .idle {
      hedges.lose(competing)
    } else if lost.mirror != requests[number]?.mirror {
      mirrors.fail(at: lost.mirror, TransferFault(.stalled), startedAt: lost.askedAt)
    }
  }

  // MARK: Pieces

  /// Verifies the pieces in `slab` that are not verified yet, and lends the correct ones.
  private func take(
    _ slab: Slab, of number: Int, _ deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    guard let request = requests[number] else { return }
    let loan = SlabLoan(slab) { [handler = request.handler, loop = session.loop, id = request.id] in
      if handler.giveBack($0) { loop.resume(id) }
    }
    var place = 0
    var right: Int64 = 0
    var (delivered, wrong) = (0, 0)
    for (index, isValid) in zip(loan.slab.pieces, loan.slab.isValid) {
      let number = request.pieces[index]
      let piece = plan.pieces[number]
      let bytes = UnsafeRawBufferPointer(
        rebasing: loan.slab.memory[place..<(place + piece.length)])
      place += piece.length
      guard !plan.isDone(number) else { continue }
      guard try isValid ?? piece.matches(bytes) else {
        wrong += 1
        wrongPieces.add(number, at: request.mirror)
        let page = piece.offset == 0 ? WebPage.type(of: bytes) : nil
        try fail(number, TransferFault(page.map { .unexpectedType($0) } ?? .damaged), at: request)
        continue
      }
      try deliver(piece, LentBytes(bytes, from: loan))
      plan.complete(number)
      delivered += 1
      right += Int64(piece.length)
    }
    if right > 0 {
      lastProgress = session.loop.clock.uptime()
      for counters in [ticket.counters, session.loop.counters] {
        counters.fetched(right, from: urls.addresses[request.mirror].origin, at: lastProgress)
      }
    }
    requests[number]?.delivered += delivered
    requests[number]?.wrong += wrong
    if delivered > 0 {
      requests[number]?.isIdle = false
      endCompetingRequest(of: number)
    }
    if wrong > 0 { try judgeWrongPieces(of: number) }
    leaveSlowMirror(request.mirror, after: right)
  }

  /// Ends request `number` if it delivers another file, and throws if every server does.
  private func judgeWrongPieces(of number: Int) throws {
    if wrongPieces.areSeveral(at: mirrors.open) { throw ContentError.replaced(file) }
    guard let request = requests[number], request.wrong >= WrongPieces.limit else { return }
    requests[number] = nil
    session.loop.cancel(request.id)
    if hedges.end(number) == nil { plan.putBack(request.pieces) }
    mirrors.fail(at: request.mirror, TransferFault(.damaged), startedAt: request.askedAt)
  }

  /// Cancels requests at `mirror` if another mirror is much faster.
  private func leaveSlowMirror(_ mirror: Int, after bytes: Int64) {
    bytesLeft -= bytes
    let limits = session.limits
    guard urls.addresses.count > 1, limits.bytesPerSecond == nil,
      limits.bytesPerSecondPerHost == nil,
      mirrors.leaves(mirror, after: bytes, bytesLeft: bytesLeft)
    else { return }
    for (number, request) in requests where request.mirror == mirror {
      requests[number]?.isLeft = true
      session.loop.cancel(request.id)
    }
  }

  /// Counts a failed attempt for a piece, and throws if the limit is reached.
  private func fail(_ number: Int, _ fault: TransferFault, at request: PieceRequest) throws {
    let attempts = plan.fail(number)
    // Try each mirror at least once.
    guard attempts >= max(session.configuration.retry.attempts, urls.addresses.count) else {
      return
    }
    if fault.kind == .damaged {
      throw ContentError.damaged(plan.pieces[number], of: file, attempts: attempts)
    }
    throw ContentError(fault, from: urls.addresses[request.mirror], subject: file.path)
  }

  // MARK: End of requests

  private func settle(_ number: Int, _ end: ExchangeEnd) throws {
    guard let request = requests.removeValue(forKey: number) else { return }
    if let (part, _) = hedges.end(number) {
      if request.isLeft { return }
      return try self.end(request, end, of: part)
    }
    let missing = plan.putBack(request.pieces)
    if request.isLeft { return }
    if let head = end.head, end.fault == nil { mirrors[request.mirror].learn(head) }
    let hasProgress = request.delivered > 0
    if hasProgress { mirrors.succeed(at: request.mirror) }
    guard missing != nil || end.fault != nil else { return }
    if let fault = end.fault { mirrors[request.mirror].needsConnection = fault.mayBeOfAddress }
    // A range that is shorter than requested is valid if it contains a piece.
    let isDamaged = request.wrong > 0
    let short: TransferFault.Kind =
      end.head?.isPage == true ? .unexpectedType("text/html") : .cutShort
    let silent = TransferFault(isDamaged ? .damaged : short)
    guard let fault = end.fault ?? (hasProgress && !isDamaged ? nil : silent) else { return }
    try conclude(fault, request, missing, end, hasProgress: hasProgress)
  }

  /// Handles the end of one of two requests for the same pieces, while the other one continues.
  ///
  /// It has delivered no piece. The failure of a second request is ignored.
  private func end(_ request: PieceRequest, _ end: ExchangeEnd, of part: HedgedRequests.Part) throws
  {
    guard let fault = end.fault else { return }
    if try urls.renews(after: fault, of: request, end, &mirrors) { return }
    if fault.retryAction == .wholeFile { mirrors[request.mirror].ranges = false }
    guard part == .idle else { return }
    mirrors[request.mirror].needsConnection = fault.mayBeOfAddress
    if let missing = request.pieces.first(where: { !plan.isDone($0) }), !fault.isRefusal {
      try fail(missing, fault, at: request)
    }
  }

  private func conclude(
    _ fault: TransferFault, _ request: PieceRequest, _ missing: Int?, _ end: ExchangeEnd,
    hasProgress: Bool
  ) throws {
    if try urls.renews(after: fault, of: request, end, &mirrors) { return }
    let address = urls.addresses[request.mirror]
    // The host's pause delays the next request.
    if fault.isRefusal, !session.isBusyTooLong(address, since: lastProgress) { return }
    switch fault.retryAction {
    case _ where fault.isRefusal, .none:
      try ticket.checkCancelled()
      throw ContentError(fault, from: end.url, subject: file.path)
    case .wholeFile where mirrors[request.mirror].ranges:
      mirrors[request.mirror].ranges = false
      return
    case .plainRange where mirrors[request.mirror].validator != nil:
      mirrors[request.mirror].usesValidator = false
      return
    case .elsewhere:
      mirrors.fail(at: request.mirror, fault, startedAt: end.startedAt)
      mirrors.refuse(at: request.mirror, startedAt: end.startedAt)
      guard mirrors.allRefuse else { return }
      throw ContentError(fault, from: end.url, subject: file.path)
    case .otherMirror, .later, .wholeFile, .plainRange: break
    }
    // Damage was already counted when it was found.
    if let missing, fault.kind != .damaged { try fail(missing, fault, at: request) }
    // A request that delivered pieces before it was interrupted is continued at once.
    if hasProgress, fault.retryAction == .later, fault.retryAfter == nil { return }
    mirrors.fail(at: request.mirror, fault, startedAt: end.startedAt)
  }
}

/// A running or waiting request for pieces.
struct PieceRequest {
  let handler: RangeHandler
  /// The requested pieces, by their numbers in the plan.
  let pieces: [Int]
  let mirror: Int
  let exchange: ExchangeRequest
  var id = 0
  /// The uptime at which it was submitted.
  let askedAt: Double
  var delivered = 0
  /// The number of its wrong pieces.
  var wrong = 0
  /// Whether no byte has arrived for a while.
  var isIdle = false
  /// The bytes of its first piece that came with the idle request before it.
  var bytesBefore = 0
  /// The incomplete piece at the time when the request became idle.
  var partial: PartialPiece?
  /// Whether it was cancelled because another mirror is faster.
  var isLeft = false

  /// A request can be continued if it brought at least one part in this many of its first piece.
  private static let minimumShare = 20

  /// Whether it brought enough of its first piece for another request to continue it.
  ///
  /// `pieces` are the pieces of the plan. The share limits the number of requests for one piece, so
  /// that a server that sends a few bytes per request is given up. Complete pieces count when they
  /// are verified.
  func isAhead(in pieces: [Piece], _ configuration: HTTPConfiguration) -> Bool {
    guard let partial, partial.index == 0 else { return false }
    let share = pieces[self.pieces[0]].length / Self.minimumShare
    return Int64(partial.bytes.count - bytesBefore) >= max(configuration.minimumBytes, Int64(share))
  }

  /// Returns the bytes that it has of the first piece of `missing`.
  func beginning(of missing: [Int]) -> [UInt8] {
    guard let partial, pieces[partial.index] == missing.first else { return [] }
    return partial.bytes
  }
}

extension Sequence<PieceRequest> {
  /// Whether another request for `count` bytes uses the second connection to its host.
  ///
  /// A connection delivers at most its window per round trip, for all requests that share it. For
  /// few bytes, another connection is not worth its handshake.
  func useSecondConnection(for count: Int) -> Bool {
    count >= 4 << 20 && reduce(0) { $0 + ($1.exchange.usesSecondConnection ? -1 : 1) } > 0
  }
}

/// The hedged requests of one fetch, for pieces of idle requests.
///
/// Pure. There is at most one pair of requests for the same pieces at a time. The first one to
/// deliver a piece continues, and the other one is cancelled.
struct HedgedRequests {
  /// The role of a request in the pair.
  enum Part {
    case idle, second
  }

  /// The maximum share of wasted bytes is one in this many.
  private static let lostShare: Int64 = 20

  private var pair: (idle: Int, second: Int)?
  /// The second requests that turned out useless and have not ended yet.
  private var lost: Set<Int> = []
  /// The bytes of useless second requests that have ended.
  private var lostBytes: Int64 = 0

  /// Whether there is a pair now.
  var isActive: Bool { pair != nil }

  /// Whether few enough bytes were wasted for another pair, in a file of `length` bytes.
  func allowsMore(length: Int64) -> Bool { lostBytes * Self.lostShare <= length }

  /// Records that `second` was sent for the pieces of `idle`.
  mutating func begin(idle: Int, second: Int) { pair = (idle, second) }

  /// Ends the pair if `number` belongs to it.
  ///
  /// Returns its role, and the number of the other request.
  mutating func end(_ number: Int) -> (part: Part, rival: Int)? {
    guard let pair, number == pair.idle || number == pair.second else { return nil }
    self.pair = nil
    return number == pair.idle ? (.idle, pair.second) : (.second, pair.idle)
  }

  /// Whether `number` is the second request of the pair.
  func isSecond(_ number: Int) -> Bool { pair?.second == number }

  /// Records that `second` was cancelled because the idle request continued.
  mutating func lose(_ second: Int) { lost.insert(second) }

  /// Records that `number` has ended with `received` bytes.
  mutating func count(_ received: Int64, of number: Int) {
    if lost.remove(number) != nil { lostBytes += received }
  }
}

/// Records which pieces of a file were wrong, and at which addresses.
///
/// Pure. A file that was replaced by another one of the same length must not be fetched again and
/// again.
struct WrongPieces {
  /// The number of wrong pieces that cannot be an accident.
  static let limit = 3
  /// A piece that is wrong this often at an address is stored wrong, not damaged in transit.
  private static let repetitions = 2

  /// How often each piece was wrong, by address.
  private var counts: [[Int: Int]]

  /// Creates an empty record for `addresses` addresses.
  init(addresses: Int) { counts = Array(repeating: [:], count: addresses) }

  /// Records that a piece from an address was wrong.
  mutating func add(_ piece: Int, at address: Int) { counts[address][piece, default: 0] += 1 }

  /// Whether several pieces are wrong at all `addresses`.
  ///
  /// False for an empty list.
  func areSeveral(at addresses: [Int]) -> Bool {
    guard let first = addresses.first else { return false }
    let wrong = counts[first].keys.filter { piece in
      addresses.allSatisfy { counts[$0][piece, default: 0] >= Self.repetitions }
    }
    return wrong.count >= Self.limit
  }
}

/// What a request of a fetch has brought.
enum FetchEvent: Sendable {
  /// Complete pieces of a request.
  case pieces(request: Int, Slab)
  /// A request is idle.
  ///
  /// Its complete pieces were delivered before. The partial piece contains the received bytes of
  /// the next piece.
  case idle(request: Int, PartialPiece?)
  /// A request has ended with `received` bytes; all its pieces were delivered before.
  case ended(request: Int, ExchangeEnd, received: Int64)
  /// A renewal of the URLs has ended.
  case authorized
  /// The ticket was cancelled.
  case cancelled
}

/// A queue of events from the loop to a worker; the slabs that a request may use limit its length.
typealias Handover = BlockingQueue<FetchEvent>

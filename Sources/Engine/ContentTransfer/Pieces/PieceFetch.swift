import ContentModel
import FileIO

/// One worker's fetch of pieces over HTTP: asks for ranges, verifies, delivers, tries again.
///
/// `FetchPlan` decides what is requested, `MirrorChoice` where and when, `TransferFault` what may
/// help. For one thread, which blocks in `run`.
final class PieceFetch {
  /// Bytes that arrive sooner than a further request's answer begins.
  private static let littleToFetch = 256 << 10

  private let file: SignedFile
  private let addresses: [WebURL]
  private let session: HTTPSession
  private let ticket: TransferTicket
  private let handover = Handover()
  private var plan: FetchPlan
  private var mirrors: MirrorBook
  private var wrongPieces: WrongPieces
  private var requests: [Int: PieceRequest] = [:]
  private var nextNumber = 0
  private var hedges = SecondRequests()
  private var mirror = 0
  private var bytesLeft: Int64
  /// When a piece arrived last, or the fetch began.
  private var lastProgress = 0.0

  init(
    _ pieces: [Piece], of file: SignedFile, from addresses: [WebURL], session: HTTPSession,
    ticket: TransferTicket
  ) {
    self.file = file
    self.addresses = addresses
    self.session = session
    self.ticket = ticket
    plan = FetchPlan(pieces)
    bytesLeft = pieces.reduce(0) { $0 + Int64($1.length) }
    mirrors = MirrorBook(addresses, session)
    wrongPieces = WrongPieces(addresses: addresses.count)
  }

  /// Fetches all pieces; see `PieceSource`.
  func run(_ deliver: (Piece, LentBytes) throws -> Void) throws {
    lastProgress = session.loop.clock.uptime()
    session.slabs.beginFetch()
    let listener = ticket.addListener { [handover, loop = session.loop, id = ticket.id] change in
      switch change {
      case .cancelled: handover.push(.cancelled)
      case .priority(let priority): loop.setPriority(priority, of: id)
      }
    }
    defer {
      session.slabs.endFetch()
      ticket.removeListener(listener)
      for request in requests.values { session.loop.cancel(request.id) }
    }
    while plan.left > 0 {
      ask()
      hedgeIdleRequest()
      for event in handover.pop() {
        switch event {
        case .pieces(let number, let slab): try take(slab, of: number, deliver)
        case .idle(let number, let partial): noteIdle(number, partial)
        case .ended(let number, let end, let received):
          hedges.count(received, of: number)
          try settle(number, end)
        case .cancelled: try ticket.checkCancelled()
        }
      }
    }
    mirrors.finish()
  }

  // MARK: Asking

  /// Asks for as much at once as may be.
  private func ask() {
    while plan.hasWaiting, mayAsk {
      let now = session.loop.clock.uptime()
      let choice = mirrors.choose(at: now)
      mirror = choice.mirror
      // Another mirror may be asked for less at once.
      guard mayAsk else { return }
      // One request is enough to find out whether a server is back.
      if choice.fault != nil, !requests.isEmpty { return }
      var request = ExchangeRequest(url: addresses[mirror])
      request.notBefore = choice.notBefore
      request.reason = choice.fault.map { TransferWait.Reason($0, from: addresses[mirror]) }
      request.isFresh = mirrors.needsConnection(at: mirror)
      if mirrors.ranges(at: mirror) {
        let connections = connections
        guard let pieces = plan.next(connections: connections.count) else { return }
        send(
          request, for: pieces, at: mirror, isWhole: plan.isWhole(pieces, of: file.length),
          insteadOf: connections.insteadOf)
      } else {
        // A whole file holds everything, so it comes once.
        guard !requests.values.contains(where: \.isWhole) else { return }
        send(request, for: plan.takeAll(), at: mirror, isWhole: true)
      }
    }
  }

  /// How many requests run at once, and how many each stands for.
  private var connections: (count: Int, insteadOf: Int) {
    session.connections(to: addresses[mirror])
  }

  /// Whether a request is free, or so little is asked for that the server would wait.
  private var mayAsk: Bool {
    if requests.count < connections.count { return true }
    return requests.count < session.limits.smallRequestsPerTransfer
      && requests.values.reduce(0) { $0 + plan.span(of: $1.pieces).count } < Self.littleToFetch
  }

  /// Sends `exchange` for pieces by their numbers; the request's number.
  @discardableResult private func send(
    _ exchange: ExchangeRequest, for numbers: [Int], beginning: [UInt8] = [], at mirror: Int,
    isWhole: Bool, insteadOf count: Int = 1
  ) -> Int {
    nextNumber += 1
    let pieces = numbers.map { plan.pieces[$0] }
    let sizes = SlabSizes(for: pieces, insteadOf: count)
    let validator = isWhole ? nil : mirrors.validator(at: mirror)
    let question = RangeQuestion(
      range: plan.span(of: numbers).dropFirst(beginning.count), isWhole: isWhole,
      fileLength: file.length, validator: validator)
    let handler = RangeHandler(
      nextNumber, pieces, beginning: beginning, question: question, sizes: sizes,
      slabs: session.slabs, handover: handover, clock: session.loop.clock)
    var exchange = exchange
    exchange.range = isWhole ? nil : question.range
    if let validator { exchange.headers = [HTTPHeader("If-Range", validator)] }
    exchange.memory = sizes.memory
    exchange.usesSecondConnection = requests.values.useSecondConnection(for: question.range.count)
    var request = PieceRequest(
      handler: handler, pieces: numbers, mirror: mirror, isWhole: isWhole,
      usesSecondConnection: exchange.usesSecondConnection,
      askedAt: session.loop.clock.uptime(), bytesBefore: beginning.count)
    request.id = session.loop.submit(exchange, ticket: ticket, handler: handler)
    requests[nextNumber] = request
    return nextNumber
  }

  // MARK: Idle requests

  /// Nothing has come of request `number` for a while, and it has `partial` of a piece.
  private func noteIdle(_ number: Int, _ partial: PartialPiece?) {
    requests[number]?.isIdle = true
    requests[number]?.partial = partial
    // Where no piece comes whole, each request continues where the last one ended, if that moved.
    let isAhead = requests[number]?.isAhead(by: session.configuration.minimumBytes) == true
    if hedges.isSecond(number), isAhead { endRival(of: number) }
  }

  /// Asks a second time for what an idle request leaves out, unless that was too often in vain.
  private func hedgeIdleRequest() {
    guard !hedges.isActive, let (number, idle) = requests.first(where: { $0.value.isIdle })
    else { return }
    requests[number]?.isIdle = false
    let missing = idle.pieces.filter { !plan.isDone($0) }
    let isWhole = plan.isWhole(missing, of: file.length)
    let second = mirrors.second(
      besides: idle.mirror, isWhole: isWhole, at: session.loop.clock.uptime())
    guard !missing.isEmpty, let second, hedges.allowsMore(length: file.length) else { return }
    var request = ExchangeRequest(url: addresses[second])
    request.isFresh = true
    // Only of the same mirror: if the piece is wrong, its sender is to blame.
    let beginning =
      second == idle.mirror && mirrors.ranges(at: second) ? idle.beginning(of: missing) : []
    let hedge = send(
      request, for: missing, beginning: beginning, at: second,
      isWhole: isWhole && beginning.isEmpty,
      insteadOf: session.connections(to: addresses[second]).insteadOf)
    hedges.begin(idle: number, second: hedge)
  }

  /// Ends the other one of two requests for the same pieces, now that `number` has delivered some.
  private func endRival(of number: Int) {
    guard let (part, rival) = hedges.end(number),
      let lost = requests.removeValue(forKey: rival)
    else { return }
    session.loop.cancel(lost.id)
    if part == .idle {
      hedges.lose(rival)
    } else if lost.mirror != requests[number]?.mirror {
      mirrors.fail(at: lost.mirror, TransferFault(.stalled), startedAt: lost.askedAt)
    }
  }

  // MARK: Pieces

  /// Verifies the pieces in `slab` that nobody has looked at, and lends the right ones.
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
    for (index, isRight) in zip(loan.slab.pieces, loan.slab.isRight) {
      let number = request.pieces[index]
      let piece = plan.pieces[number]
      let bytes = UnsafeRawBufferPointer(
        rebasing: loan.slab.memory[place..<(place + piece.length)])
      place += piece.length
      guard !plan.isDone(number) else { continue }
      guard try isRight ?? piece.matches(bytes) else {
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
    count(right, from: addresses[request.mirror].origin)
    requests[number]?.delivered += delivered
    requests[number]?.wrong += wrong
    if delivered > 0 {
      requests[number]?.isIdle = false
      endRival(of: number)
    }
    if wrong > 0 { try judgeWrongPieces(of: number) }
    leaveSlowMirror(request.mirror, after: right)
  }

  /// Ends request `number` if it brings another file, and the fetch if every server does.
  private func judgeWrongPieces(of number: Int) throws {
    if wrongPieces.areSeveral(at: mirrors.open) { throw ContentError.replaced(file) }
    guard let request = requests[number], request.wrong >= WrongPieces.limit else { return }
    requests[number] = nil
    session.loop.cancel(request.id)
    if hedges.end(number) == nil { plan.putBack(request.pieces) }
    mirrors.fail(at: request.mirror, TransferFault(.damaged), startedAt: request.askedAt)
  }

  /// Asks elsewhere for what is under way at `mirror` if that is far slower than another one.
  private func leaveSlowMirror(_ mirror: Int, after bytes: Int64) {
    guard addresses.count > 1 else { return }
    bytesLeft -= bytes
    let limits = session.limits
    guard limits.bytesPerSecond == nil, limits.bytesPerSecondPerHost == nil,
      mirrors.leaves(mirror, after: bytes, bytesLeft: bytesLeft)
    else { return }
    for (number, request) in requests where request.mirror == mirror {
      requests[number]?.isLeft = true
      session.loop.cancel(request.id)
    }
  }

  private func count(_ bytes: Int64, from origin: String) {
    guard bytes > 0 else { return }
    lastProgress = session.loop.clock.uptime()
    for counters in [ticket.counters, session.loop.counters] {
      counters.fetched(bytes, from: origin)
    }
  }

  /// Counts a failed attempt at a piece; throws when there were enough.
  private func fail(_ number: Int, _ fault: TransferFault, at request: PieceRequest) throws {
    let attempts = plan.fail(number)
    // Each mirror is asked at least once, however many there are.
    guard attempts >= max(session.configuration.retry.attempts, addresses.count) else { return }
    if fault.kind == .damaged {
      throw ContentError.damaged(plan.pieces[number], of: file, attempts: attempts)
    }
    throw ContentError(fault, from: addresses[request.mirror], subject: file.path)
  }

  // MARK: Ends

  /// Draws the conclusions from a request's end.
  private func settle(_ number: Int, _ end: ExchangeEnd) throws {
    guard let request = requests.removeValue(forKey: number) else { return }
    if let (part, _) = hedges.end(number) {
      if request.isLeft { return }
      return try self.end(request, end, of: part)
    }
    let missing = plan.putBack(request.pieces)
    if request.isLeft { return }
    if let head = end.head, end.fault == nil { mirrors.learn(head, at: request.mirror) }
    let hasProgress = request.delivered > 0
    if hasProgress { mirrors.succeed(at: request.mirror) }
    guard missing != nil || end.fault != nil else { return }
    if let fault = end.fault { mirrors.note(fault, at: request.mirror) }
    // A shorter range than asked for is legal, as long as it brings something.
    let isDamaged = request.wrong > 0
    let short: TransferFault.Kind =
      end.head?.isPage == true ? .unexpectedType("text/html") : .cutShort
    let silent = TransferFault(isDamaged ? .damaged : short)
    guard let fault = end.fault ?? (hasProgress && !isDamaged ? nil : silent) else {
      return
    }
    try conclude(fault, request, missing, end, hasProgress: hasProgress)
  }

  /// Settles one of two requests for the same pieces, which has delivered none; the other goes on.
  ///
  /// That a second request fails, such as by a refusal, is no failure.
  private func end(_ request: PieceRequest, _ end: ExchangeEnd, of part: SecondRequests.Part) throws
  {
    guard let fault = end.fault else { return }
    if fault.retryAction == .wholeFile { mirrors.giveUpRanges(at: request.mirror) }
    guard part == .idle else { return }
    mirrors.note(fault, at: request.mirror)
    if let missing = request.pieces.first(where: { !plan.isDone($0) }), !fault.isRefusal {
      try fail(missing, fault, at: request)
    }
  }

  private func conclude(
    _ fault: TransferFault, _ request: PieceRequest, _ missing: Int?, _ end: ExchangeEnd,
    hasProgress: Bool
  ) throws {
    guard !fault.isRefusal else { return try wait(fault, at: addresses[request.mirror], end) }
    switch fault.retryAction {
    case .none:
      try ticket.checkCancelled()
      throw ContentError(fault, from: end.url, subject: file.path)
    case .wholeFile where mirrors.ranges(at: request.mirror):
      return mirrors.giveUpRanges(at: request.mirror)
    case .plainRange where mirrors.validator(at: request.mirror) != nil:
      return mirrors.giveUpValidator(at: request.mirror)
    case .elsewhere:
      mirrors.fail(at: request.mirror, fault, startedAt: end.startedAt)
      mirrors.refuse(at: request.mirror, startedAt: end.startedAt)
      guard mirrors.allRefuse else { return }
      throw ContentError(fault, from: end.url, subject: file.path)
    case .otherMirror, .later, .wholeFile, .plainRange: break
    }
    // Damage was counted when it was seen.
    if let missing, fault.kind != .damaged { try fail(missing, fault, at: request) }
    // What broke off after it brought something goes on at once.
    if hasProgress, fault.retryAction == .later, fault.retryAfter == nil { return }
    mirrors.fail(at: request.mirror, fault, startedAt: end.startedAt)
  }

  /// Waits until `address` answers again; throws if it has refused everything for too long.
  private func wait(_ fault: TransferFault, at address: WebURL, _ end: ExchangeEnd) throws {
    guard session.isBusyTooLong(address, since: lastProgress) else { return }
    throw ContentError(fault, from: end.url, subject: file.path)
  }
}

import HostedConcurrency
package import HostedFileIO
import HostedHTTPValues
package import HostedModel

/// Fetches pieces over HTTP for one worker, as `PieceFetchState` decides.
///
/// It sends and cancels requests, verifies and delivers pieces, and passes the results to the state
/// machine. Use it from one thread, which blocks in `run`.
final class PieceFetch {
  typealias Deliver = (Piece, LentBytes) throws -> Void

  private let pieces: [Piece]
  private let file: SignedFile
  private let urls: RequestURLs
  private let session: HTTPSession
  private let ticket: TransferTicket
  private let handover = Handover()
  private let slabs: SlabPool
  private var state: PieceFetchState
  /// The requests that have not ended, by their number in the fetch.
  private var requests: [Int: Sent] = [:]
  /// The request with the URL that was granted last.
  private var granted: ExchangeRequest?
  private var arrival: Arrival?
  /// Spreads retries; a new number for each end of a request.
  private var random: Double

  private struct Sent {
    let request: PieceRequest
    let handler: RangeHandler
    /// The number in the loop.
    let id: Int
  }

  /// The slab whose pieces are verified and delivered.
  private struct Arrival {
    let loan: SlabLoan
    /// The place of each piece in the slab.
    let places: [Range<Int>]

    func bytes(of index: Int) -> UnsafeRawBufferPointer {
      let place = places[index - loan.slab.pieces.lowerBound]
      return UnsafeRawBufferPointer(rebasing: loan.slab.memory[place])
    }
  }

  init(
    _ pieces: [Piece], of file: SignedFile, from urls: RequestURLs, session: HTTPSession,
    ticket: TransferTicket
  ) {
    self.pieces = pieces
    self.file = file
    self.urls = urls
    self.session = session
    self.ticket = ticket
    slabs = SlabPool(of: session.slabs)
    random = session.loop.random()
    let now = session.loop.clock.uptime()
    state = PieceFetchState(
      pieces, of: file, at: urls.addresses,
      rates: session.rates.rates(of: urls.addresses.map(\.origin), at: now),
      session.configuration, now: now)
  }

  /// Fetches all pieces, as described in `PieceSource`.
  func run(_ deliver: Deliver) throws {
    let listener = ticket.addListener { [handover] in handover.add(.cancelled) }
    defer { ticket.removeListener(listener) }
    do {
      try perform(state.proceed(conditions), deliver)
      while !state.isEnded {
        for event in handover.takeAll() { try handle(event, deliver) }
        try perform(state.proceed(conditions), deliver)
      }
    } catch {
      try perform(state.stop(), deliver)
      throw error
    }
  }

  private var conditions: PieceFetchState.Conditions {
    PieceFetchState.Conditions(
      now: session.loop.clock.uptime(), random: random, limits: session.limits,
      hosts: urls.addresses.map(session.host))
  }

  // MARK: Events

  private func handle(_ event: FetchEvent, _ deliver: Deliver) throws {
    switch event {
    case .pieces(let number, let slab): try take(slab, of: number, deliver)
    case .idle(let number, let partial):
      try perform(state.idle(number, partial, conditions), deliver)
    case .ended(let number, let end, let received):
      requests[number] = nil
      random = session.loop.random()
      let isFirstRefusal = state.refusedGrant(of: number, end).flatMap { urls.lease?.refuse($0) }
      let ending = PieceFetchState.Ending(
        end: end, received: received, isFirstRefusal: isFirstRefusal)
      try perform(state.ended(number, ending, conditions), deliver)
    case .authorized: break
    case .cancelled: try ticket.checkCancelled()
    }
  }

  /// Verifies the pieces in `slab` that are missing and not verified yet.
  private func take(_ slab: Slab, of number: Int, _ deliver: Deliver) throws {
    guard let sent = requests[number] else { return }
    let loan = SlabLoan(slab) { [handler = sent.handler, loop = session.loop, id = sent.id] in
      if handler.giveBack($0) { loop.resume(id) }
    }
    var end = 0
    let places = slab.pieces.map { index in
      let start = end
      end += pieces[sent.request.pieces[index]].length
      return start..<end
    }
    let arrival = Arrival(loan: loan, places: places)
    let missing = state.missing(slab.pieces, of: number)
    let verdicts: [PieceFetchState.Verdict] = try missing.map { index in
      let piece = pieces[sent.request.pieces[index]]
      let bytes = arrival.bytes(of: index)
      let isValid = slab.isValid[index - slab.pieces.lowerBound]
      if try isValid ?? piece.matches(bytes) { return (index, nil) }
      let page = piece.offset == 0 ? WebPage.type(of: bytes) : nil
      let kind = page.map(TransferFault.Kind.unexpectedType) ?? .damaged
      return (index, TransferFault(kind))
    }
    self.arrival = arrival
    defer { self.arrival = nil }
    try perform(state.verified(verdicts, of: number), deliver)
  }

  // MARK: Actions

  private func perform(_ decided: [PieceFetchState.Action], _ deliver: Deliver) throws {
    var actions = decided[...]
    while let action = actions.popFirst() {
      switch action {
      case .authorize(let mirror, let seconds):
        granted = try urls.request(at: mirror, for: seconds, waiter: handover)
        actions += state.authorized(granted?.access, conditions)
      case .start(let request, let beginning): start(request, beginning)
      case .cancel(let number): if let sent = requests[number] { session.loop.cancel(sent.id) }
      case .deliver(let delivery):
        try lend(delivery, deliver)
        actions += state.delivered(delivery, conditions)
      case .count(let bytes, let mirror):
        let now = session.loop.clock.uptime()
        for counters in [ticket.counters, session.loop.counters] {
          counters.fetched(bytes, from: urls.addresses[mirror].origin, at: now)
        }
      case .noteHost(let mirror, let fault, let start):
        let origin = urls.addresses[mirror].origin
        session.health.note(fault, from: origin, startedAt: start, on: session.loop)
      case .noteRate(let mirror, let rate):
        session.rates.note(
          rate, of: urls.addresses[mirror].origin, at: session.loop.clock.uptime())
      case .checkCancelled: try ticket.checkCancelled()
      case .finish: return
      case .fail(let error): throw error
      }
    }
  }

  private func lend(_ delivery: PieceFetchState.Delivery, _ deliver: Deliver) throws {
    guard let arrival, let sent = requests[delivery.request] else { return }
    for index in delivery.indices {
      let piece = pieces[sent.request.pieces[index]]
      try deliver(piece, LentBytes(arrival.bytes(of: index), from: arrival.loan))
    }
  }

  private func start(_ request: PieceRequest, _ beginning: [UInt8]) {
    guard var exchange = granted else { return }
    let pieces = request.pieces.map { self.pieces[$0] }
    let sizes = SlabSizes(for: pieces, insteadOf: request.insteadOf)
    let question = RangeQuestion(
      range: request.range, isWhole: request.isWhole, fileLength: file.length,
      validator: request.validator)
    let handler = RangeHandler(
      request.number, pieces, beginning: beginning, question: question, sizes: sizes,
      slabs: slabs, handover: handover, clock: session.loop.clock)
    exchange.range = request.isWhole ? nil : request.range
    if let validator = request.validator { exchange.headers = [HTTPHeader("If-Range", validator)] }
    exchange.notBefore = request.notBefore
    exchange.reason = request.delay.map {
      TransferWait.Reason($0, from: urls.addresses[request.mirror])
    }
    exchange.isFresh = request.isFresh
    exchange.usesSecondConnection = request.usesSecondConnection
    exchange.memory = sizes.memory
    let id = session.loop.submit(exchange, ticket: ticket, handler: handler)
    requests[request.number] = Sent(request: request, handler: handler, id: id)
  }
}

extension ExchangeRequest {
  fileprivate var access: PieceFetchState.Access {
    PieceFetchState.Access(grant: grant?.number, expiresAt: grant?.expiresAt ?? .infinity)
  }
}

/// What a request of a fetch has brought.
enum FetchEvent: Sendable {
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

/// A store on one or several web servers with the same content.
package struct HTTPPieceSource: PieceSource {
  /// The session, which may be shared.
  package let session: HTTPSession
  /// The URLs of the store's folder, in order of preference; not empty.
  package let mirrors: [WebURL]
  /// Nil if the URLs do not expire.
  private let lease: URLLease?

  /// Creates a source.
  ///
  /// A file's URLs are those of `authorizer`. Without them, they are the file's path below the
  /// mirrors. Throws `usage` if `mirrors` is empty.
  package init(
    _ session: HTTPSession, mirrors: [WebURL], authorizer: (any ContentAuthorizer)? = nil
  ) throws {
    guard !mirrors.isEmpty else {
      throw ContentError(.usage, "The store has no address", remedy: "Set at least one address")
    }
    self.session = session
    self.mirrors = mirrors
    lease = authorizer.map { URLLease($0, session) }
  }

  package func bytesMoved(by pieces: [Piece], of file: SignedFile) -> Int64 {
    guard let pieces = try? pieces.sorted(within: file) else { return file.length }
    var plan = FetchPlan(pieces.filter { $0.length > 0 })
    var bytes: Int64 = 0
    let connections = session.connections(to: mirrors[0]).count
    while let numbers = plan.next(connections: connections) {
      bytes +=
        plan.isWhole(numbers, of: file.length)
        ? file.length : Int64(plan.span(of: numbers).count)
    }
    return bytes
  }

  /// A file of this length takes two round trips of 100 ms at 10 Mbit/s; in bytes.
  private static let wholeLimit: Int64 = 256 << 10

  package func isBestWhole(_ file: SignedFile) -> Bool {
    file.length <= Self.wholeLimit && session.loop.distances.isLong(to: mirrors[0].origin)
  }

  package func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    let pieces = try pieces.sorted(within: file)
    // An empty piece needs no request, but its digest may be wrong.
    for piece in pieces where piece.length == 0 {
      let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
      guard try piece.matches(nothing) else {
        throw ContentError.damaged(piece, of: file, attempts: 1)
      }
      try deliver(piece, LentBytes(nothing, from: nil))
    }
    let granted = try lease?.addresses(of: file.path, ticket)
    let urls = RequestURLs(
      path: file.path, addresses: try granted ?? mirrors.map { try $0.appending(file.path) },
      lease: granted == nil ? nil : lease)
    let fetch = PieceFetch(
      pieces.filter { $0.length > 0 }, of: file, from: urls, session: session, ticket: ticket)
    try fetch.run(deliver)
  }
}

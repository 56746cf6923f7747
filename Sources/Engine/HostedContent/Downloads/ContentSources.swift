import HostedConcurrency
import HostedTransfer
import FoundationEssentials

struct ContentSources: Sendable {
  private let store: StoreAccess
  private let replacement: (@Sendable () throws -> any PieceSource)?
  /// Nil if the service does not grant content.
  let grants: ContentGrantBook?

  /// Creates the sources of `store`, with the grants of the first service that grants content.
  ///
  /// `replacement` is used instead of the store.
  init(
    of store: StoreAccess, services: [any StoreService], clock: EngineClock = .system,
    replacement: (@Sendable () throws -> any PieceSource)? = nil
  ) {
    self.store = store
    self.replacement = replacement
    grants = services.lazy.compactMap { $0 as? any ContentGranting }.first.map {
      ContentGrantBook($0, uptime: clock.uptime)
    }
  }

  /// Returns the source for one transfer.
  ///
  /// Throws `storeMissing` if the store's folder does not exist.
  func source(for request: ContentRequest) throws -> any PieceSource {
    try replacement?() ?? store.pieceSource(grants.map { ContentAccess($0, request) })
  }
}

struct ContentRequest: Sendable {
  let offer: ContentOffer
  /// Nil for the library's own account.
  var account: AccountID?
  /// Contents that the account needs soon, so that one call can ask for all.
  var ahead: [ContentOffer] = []
}

/// Asks a service for the URLs of contents, many in one call.
///
/// One call runs at a time. URLs of contents that were asked for ahead are kept until a transfer
/// takes them. May be used from any thread.
final class ContentGrantBook: Sendable {
  static let callLimit = 64

  private let service: any ContentGranting
  private let uptime: @Sendable () -> Double
  private let state = Mutex(State())

  init(_ service: any ContentGranting, uptime: @escaping @Sendable () -> Double) {
    self.service = service
    self.uptime = uptime
  }

  /// Returns URLs; those of a renewal are new, others may have been kept.
  fileprivate func urls(
    for request: ContentRequest, isRenewal: Bool
  ) async throws -> AuthorizedURLs {
    try await withCheckedThrowingContinuation {
      add(Order(request: request, isRenewal: isRenewal, continuation: $0))
    }
  }

  /// Ends all waits with `stopped`, now and later.
  func close() {
    let orders = state.withLock { state in
      state.isClosed = true
      defer { (state.waiting, state.called) = ([], []) }
      return state.waiting + state.called
    }
    for order in orders { order.continuation.resume(throwing: ContentError.queueClosed) }
  }

  private func add(_ order: Order) {
    let now = uptime()
    let (result, starts): (Result<AuthorizedURLs, any Error>?, Bool) = state.withLock { state in
      if state.isClosed { return (.failure(ContentError.queueClosed), false) }
      if let urls = state.take(for: order, at: now) { return (.success(urls), false) }
      state.waiting.append(order)
      defer { state.isCalling = true }
      return (nil, !state.isCalling)
    }
    if let result { order.continuation.resume(with: result) }
    if starts { Task { await makeCalls() } }
  }

  /// Calls the service until nothing waits.
  private func makeCalls() async {
    while let call = state.withLock({ $0.nextCall() }) {
      let start = uptime()
      let answer: Result<ContentGrants, any Error>
      do {
        answer = .success(
          try await service.contentGrants(for: call.contents, account: call.account))
      } catch {
        answer = .failure(error)
      }
      let now = uptime()
      let ended = state.withLock { $0.end(call, answer, since: start, at: now) }
      for (order, result) in ended { order.continuation.resume(with: result) }
    }
  }
}

/// The URLs of one transfer.
private final class ContentAccess: ContentAuthorizer {
  private let book: ContentGrantBook
  private let request: ContentRequest
  private let isFirst = Atomic(true)

  fileprivate init(_ book: ContentGrantBook, _ request: ContentRequest) {
    self.book = book
    self.request = request
  }

  func authorize() async throws -> AuthorizedURLs {
    var request = request
    let isRenewal = !isFirst.exchange(false, ordering: .relaxed)
    if isRenewal { request.ahead = [] }
    return try await book.urls(for: request, isRenewal: isRenewal)
  }
}

private struct Holding: Hashable, Sendable {
  let account: AccountID?
  let content: ContentKey

  init(_ offer: ContentOffer, of account: AccountID?) {
    self.account = account
    content = ContentKey(offer.contentIdentifier, version: offer.version)
  }
}

/// A transfer that waits for URLs.
private struct Order: Sendable {
  let request: ContentRequest
  let isRenewal: Bool
  /// Whether a call with other contents was refused.
  var isAlone = false
  let continuation: CheckedContinuation<AuthorizedURLs, any Error>

  var holding: Holding { Holding(request.offer, of: request.account) }
}

/// A call has each content once, up to its limit.
private typealias Call = (account: AccountID?, contents: [ContentOffer])

private struct State: Sendable {
  var waiting: [Order] = []
  /// The transfers that wait for the running call.
  var called: [Order] = []
  var isCalling = false
  var isClosed = false
  /// Whether calls contain contents that are needed later: not after one was refused.
  private var asksAhead = true
  private var kept: [Holding: (urls: AuthorizedURLs, since: Double)] = [:]

  /// Takes the kept URLs for `order`, or returns nil if they do not exist or are too old.
  mutating func take(for order: Order, at now: Double) -> AuthorizedURLs? {
    guard !order.isRenewal, let entry = kept.removeValue(forKey: order.holding) else { return nil }
    let urls = entry.urls.aged(by: now - entry.since)
    return urls.isFresh ? urls : nil
  }

  /// Returns the next call, with the transfers of one account that wait.
  mutating func nextCall() -> Call? {
    isCalling = !waiting.isEmpty
    guard let first = waiting.first else { return nil }
    let account = first.request.account
    var others: [Order] = []
    for order in waiting {
      let fits = !first.isAlone && !order.isAlone && order.request.account == account
      if called.isEmpty || fits && called.count < ContentGrantBook.callLimit {
        called.append(order)
      } else {
        others.append(order)
      }
    }
    waiting = others
    var offers = called.map(\.request.offer)
    if asksAhead, !first.isAlone {
      offers += called.flatMap(\.request.ahead).filter { kept[Holding($0, of: account)] == nil }
    }
    var holdings: Set<Holding> = []
    let contents = offers.filter { holdings.insert(Holding($0, of: account)).inserted }
    return (account, Array(contents.prefix(ContentGrantBook.callLimit)))
  }

  /// Records the answer to `call`, and returns the transfers whose wait ends.
  mutating func end(
    _ call: Call, _ answer: Result<ContentGrants, any Error>, since start: Double, at now: Double
  ) -> [(Order, Result<AuthorizedURLs, any Error>)] {
    var orders = called
    called = []
    guard !isClosed else { return [] }
    if case .failure(let error as ContentError) = answer, !error.isRetryable,
      call.contents.count > 1
    {
      // The error may be about one of them.
      if call.contents.count > Set(orders.map(\.holding)).count { asksAhead = false }
      for index in orders.indices { orders[index].isAlone = true }
      waiting = orders + waiting
      return []
    }
    kept = kept.filter { $0.value.urls.aged(by: now - $0.value.since).isFresh }
    let asked = Set(orders.map(\.holding))
    for offer in call.contents {
      let holding = Holding(offer, of: call.account)
      guard !asked.contains(holding), let grants = try? answer.get() else { continue }
      kept[holding] = (try? AuthorizedURLs(grants, for: offer)).map { (urls: $0, since: start) }
    }
    var ended: [(Order, Result<AuthorizedURLs, any Error>)] = orders.map { order in
      (order, Result { try AuthorizedURLs(answer.get(), for: order.request.offer) })
    }
    // Transfers that began during the call.
    var others: [Order] = []
    for order in waiting {
      if let urls = take(for: order, at: now) {
        ended.append((order, .success(urls)))
      } else {
        others.append(order)
      }
    }
    waiting = others
    return ended
  }
}

extension AuthorizedURLs {
  /// Takes the URLs of one content; throws `answerUnusable` for an invalid URL.
  fileprivate init(_ grants: ContentGrants, for offer: ContentOffer) throws {
    var urls: [String: [WebURL]] = [:]
    for path in [offer.package.path, offer.index.path] {
      urls[path] = try grants.urls[path]?.map { (url: URL) throws -> WebURL in
        if let url = try? WebURL(url.absoluteString) { return url }
        // The URL may contain a secret.
        throw ContentError(
          .answerUnusable, "The store service returned an invalid URL for \(path)",
          remedy: "Ask the operator of the store service to check its content URLs", subject: path)
      }
    }
    self.init(urls, lifetime: grants.lifetime?.inSeconds ?? .infinity)
  }
}

import HostedConcurrency
import HostedModel

/// The URLs of one transfer, shared by all its requests, and renewed before they expire.
///
/// Use it from any thread. One renewal runs at a time, without blocking a thread.
final class URLLease: Sendable {
  /// The URLs of one renewal.
  struct Grant: Sendable {
    /// The number of the renewal, from 1.
    let number: Int
    let urls: [String: [WebURL]]
    /// The uptime of the next renewal.
    let renewAt: Double
    /// The uptime from which no request may start.
    let expiresAt: Double
  }

  private let authorizer: any ContentAuthorizer
  private let configuration: HTTPConfiguration
  private let clock: EngineClock
  private let random: @Sendable () -> Double
  private let state = Mutex(State())

  private struct State {
    /// Nil before the first renewal, and after a refusal.
    var grant: Grant?
    var renewals = 0
    var isRenewing = false
    /// The uptime of the next renewal after one failed, while the grant is valid.
    var retryAt = -Double.infinity
    /// The error that ended the lease.
    var error: (any Error)?
    /// The fetches that wait for the end of the renewal.
    var waiting: [Handover] = []
  }

  init(_ authorizer: any ContentAuthorizer, _ session: HTTPSession) {
    self.authorizer = authorizer
    configuration = session.configuration
    clock = session.loop.clock
    random = session.loop.random
  }

  /// Waits for a grant, and returns the addresses of a file without their secret queries.
  ///
  /// Returns nil if the grant does not contain the file.
  func addresses(of path: String, _ ticket: TransferTicket) throws -> [WebURL]? {
    let handover = Handover()
    let listener = ticket.addListener { handover.add(.cancelled) }
    defer { ticket.removeListener(listener) }
    while true {
      try ticket.checkCancelled()
      if let grant = try grant(for: 0, waiter: handover) {
        let urls = grant.urls[path] ?? []
        return urls.isEmpty ? nil : urls.map(\.withoutQuery)
      }
      _ = handover.takeAll()
    }
  }

  /// Returns the current grant, or nil during a renewal, after which `waiter` gets an event.
  ///
  /// Starts a renewal if it is due. During the renewal, the current grant is only used for requests
  /// that take at most `seconds` and end before it expires. Throws the error that ended the lease.
  func grant(for seconds: Double, waiter: Handover) throws -> Grant? {
    let now = clock.uptime()
    let (grant, starts): (Grant?, Bool) = try state.withLock { state in
      if let error = state.error { throw error }
      let valid = state.grant.flatMap { $0.expiresAt > now ? $0 : nil }
      let isDue = valid.map { max($0.renewAt, state.retryAt) <= now } ?? true
      let starts = isDue && !state.isRenewing
      if starts { state.isRenewing = true }
      if let valid, !state.isRenewing || valid.expiresAt > now + seconds { return (valid, starts) }
      if !state.waiting.contains(where: { $0 === waiter }) { state.waiting.append(waiter) }
      return (nil, starts)
    }
    if starts { renew() }
    return grant
  }

  /// Records that a server refused grant `number`.
  ///
  /// Returns false if that is known, or if the grant is being replaced anyway.
  func refuse(_ number: Int) -> Bool {
    state.withLock { state in
      guard state.grant?.number == number else { return false }
      state.grant = nil
      return !state.isRenewing
    }
  }

  // MARK: Renewal

  private func renew() {
    Task { [weak self, authorizer] in
      var attempts = 0
      while let start = self?.clock.uptime() {
        attempts += 1
        do {
          let urls = try await authorizer.authorize()
          try self?.accept(urls, since: start)
          return
        } catch {
          guard let delay = self?.fail(error, attempts) else { return }
          try? await Task.sleep(for: .seconds(delay))
        }
      }
    }
  }

  /// Takes the URLs of an attempt that began at `start`.
  private func accept(_ urls: AuthorizedURLs, since start: Double) throws {
    try configuration.checkQueries(of: urls.urls.values.joined())
    let begin = start - urls.age
    guard begin + urls.lifetime > clock.uptime() else { throw Self.late }
    end { state in
      state.renewals += 1
      state.grant = Grant(
        number: state.renewals, urls: urls.urls,
        renewAt: begin + urls.lifetime * AuthorizedURLs.renewalShare,
        expiresAt: begin + urls.lifetime - urls.margin)
    }
  }

  /// Returns the delay after attempt number `attempts` failed, or nil if it was the last one.
  private func fail(_ error: any Error, _ attempts: Int) -> Double? {
    let retry = configuration.retry
    let known = error as? ContentError
    let isRetryable = known?.code != .stopped && known?.isRetryable ?? true
    if isRetryable, attempts < retry.attempts {
      return retry.delay(afterFailure: attempts, retryAfter: nil, random: random())
    }
    let now = clock.uptime()
    end { state in
      let isValid = state.grant.map { $0.expiresAt > now } ?? false
      if isRetryable, isValid {
        state.retryAt = now + retry.longestDelay
      } else {
        state.error = error
      }
    }
    return nil
  }

  private static let late = ContentError(
    .timedOut, "The URLs of the content expired before they arrived",
    remedy: "Check the network and the lifetime of URLs at the store service")

  private func end(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      state.isRenewing = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.add(.authorized) }
  }
}

/// Provides the URLs of the files of one transfer if they expire.
package protocol ContentAuthorizer: Sendable {
  /// Returns new URLs.
  ///
  /// Each time, they are at the same mirrors in the same order. After a retryable error, it is
  /// called again. Any other `ContentError` ends the transfer, such as `accessDenied`.
  func authorize() async throws -> AuthorizedURLs
}

/// The URLs of files, for a limited time.
///
/// Their queries are secret. The description of a `WebURL` does not contain the query.
package struct AuthorizedURLs: Sendable {
  /// The URLs at each mirror, by the file's path in the store.
  package let urls: [String: [WebURL]]
  /// The lifetime in seconds, or infinity.
  package let lifetime: Double
  /// The seconds of the lifetime that had passed when `authorize` was called.
  package private(set) var age = 0.0

  /// The share of the lifetime after which URLs are renewed.
  static let renewalShare = 0.8

  /// The time at the end in which no response may be running: services state times in whole
  /// seconds.
  ///
  /// At most a second, and never before the renewal.
  var margin: Double { min(1, lifetime * (1 - Self.renewalShare)) }

  package init(_ urls: [String: [WebURL]], lifetime: Double) {
    self.urls = urls
    self.lifetime = lifetime
  }

  /// Whether they need no renewal yet.
  package var isFresh: Bool { age < lifetime * Self.renewalShare }

  /// Returns the URLs `seconds` later.
  package func aged(by seconds: Double) -> AuthorizedURLs {
    var aged = self
    aged.age += seconds
    return aged
  }
}

/// The URLs of the requests of one fetch, which may expire.
struct RequestURLs {
  /// The file's path in the store.
  let path: String
  /// The lasting addresses, without secrets, for choices and messages.
  let addresses: [WebURL]
  /// Nil if the addresses are the URLs.
  let lease: URLLease?

  /// Returns a request at `mirror` that takes `seconds`, or nil while its URL is renewed.
  ///
  /// Then `waiter` gets an event at the end of the renewal.
  func request(
    at mirror: Int, for seconds: Double, waiter: Handover
  ) throws -> ExchangeRequest? {
    var request = ExchangeRequest(url: addresses[mirror])
    guard let lease else { return request }
    guard let grant = try lease.grant(for: seconds, waiter: waiter) else { return nil }
    let urls = grant.urls[path] ?? []
    if let url = urls.indices.contains(mirror) ? urls[mirror] : urls.first { request.url = url }
    request.grant = grant
    return request
  }
}

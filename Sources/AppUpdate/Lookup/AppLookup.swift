public import FoundationEssentials
import HostedTransfer

/// Looks up and searches apps in Apple's store, or in your own server with the same API.
///
/// It caches answers, limits the rate of calls, and waits if a server asks for it. Can be used from
/// any task.
public actor AppLookup {
  /// The configuration of a lookup.
  public struct Configuration: Sendable {
    /// The server.
    ///
    /// `/lookup` and `/search` are below its URL. It must use HTTPS, unless it is on this machine.
    /// Default: Apple's server.
    public var server: URL
    /// The storefront of queries without one.
    public var country: CountryCode = .us
    /// The lifetime of a cached answer; zero caches nothing.
    ///
    /// Default: 4 hours.
    public var timeToLive: Duration = .seconds(4 * 3600)
    /// The lifetime of a cached answer without results, at most `timeToLive`.
    ///
    /// Default: 5 minutes.
    public var emptyTimeToLive: Duration = .seconds(300)
    /// The maximum number of cached answers; 0 caches nothing.
    ///
    /// Default: 256.
    public var maximumCachedAnswers = 256
    /// The maximum number of calls per minute; a number below 1 counts as 1.
    ///
    /// Default: 20, about what Apple allows.
    public var maximumCallsPerMinute = 20
    /// The maximum time that a call waits for the rate limit or because the server asked for it.
    ///
    /// A call that would wait longer fails at once. Default: one minute.
    public var maximumWait: Duration = .seconds(60)
    /// The timeout of a call, without the wait for the rate limit.
    ///
    /// Default: 20 seconds.
    public var timeout: Duration = .seconds(20)
    /// The maximum size of an answer in bytes.
    ///
    /// Default: 16 MiB.
    public var maximumAnswerSize = 16 << 20

    /// Creates the default configuration, for Apple's server or another one.
    public init(server: URL = AppLookup.appleServer) { self.server = server }
  }

  // The text is a valid URL. An invalid URL would make calls fail.
  /// Apple's server for lookups and searches.
  public static let appleServer = URL(string: "https://itunes.apple.com") ?? URL(filePath: "/")

  /// The configuration.
  public nonisolated let configuration: Configuration
  private let transport: any LookupTransport
  private let clock: AppUpdateClock
  private var limiter: CallLimiter
  private var cache: LookupCache

  /// Creates a lookup that sends its requests with `transport`.
  public init(_ configuration: Configuration = Configuration(), transport: any LookupTransport) {
    self.init(configuration, transport: transport, clock: AppUpdateClock())
  }

  init(_ configuration: Configuration, transport: any LookupTransport, clock: AppUpdateClock) {
    self.configuration = configuration
    self.transport = transport
    self.clock = clock
    limiter = CallLimiter(
      callsPerMinute: configuration.maximumCallsPerMinute,
      maximumWait: configuration.maximumWait.inSeconds)
    cache = LookupCache(capacity: configuration.maximumCachedAnswers)
  }

  // MARK: Queries

  /// Looks up apps.
  ///
  /// `caching` determines which caches may answer. Throws `queryInvalid` and `appIdentifierInvalid`
  /// before anything is sent, `queryInvalid` also if the server refuses the query,
  /// `lookupThrottled` if the server answers with a request to wait, or the call would wait longer
  /// than `maximumWait`, `CancellationError` if its task is canceled during the wait,
  /// `insecureConnectionRefused` for a server over plain HTTP, `usage` for a server's URL with a
  /// user name, `requestRefused`, `serverFailed`, `answerUnreadable`, and errors of the transport.
  public func lookUp(
    _ query: LookupQuery, caching: LookupCachePolicy = .useCache
  ) async throws -> LookupResults {
    try await answer(
      "lookup", query.parameters(defaultCountry: configuration.country), caching)
  }

  /// Searches apps.
  ///
  /// Throws like `lookUp`.
  public func search(
    _ query: SearchQuery, caching: LookupCachePolicy = .useCache
  ) async throws -> LookupResults {
    try await answer(
      "search", query.parameters(defaultCountry: configuration.country), caching)
  }

  // MARK: Calls

  private func answer(
    _ path: String, _ parameters: [QueryParameter], _ caching: LookupCachePolicy
  ) async throws -> LookupResults {
    let server = configuration.server
    let plain = try server.appending(path, parameters)
    let subject = plain.absoluteString
    if caching == .useCache, let known = cache.answer(for: subject, at: clock.now()) {
      return known
    }
    let isFresh = caching == .reloadIgnoringAllCaches
    let url = isFresh ? try server.appending(path, parameters + [.unique]) : plain
    try await waitForReservation(subject: subject)
    let request = LookupRequest(
      url: url, revalidates: isFresh, maximumSize: configuration.maximumAnswerSize,
      timeout: configuration.timeout)
    let response = try await transport.get(request)
    let now = clock.now()
    let wait = response.requestedWait(at: now)
    if let wait { limiter.block(forSeconds: wait, at: now) }
    let body = try response.checkedBody(from: plain, wait: wait, subject: subject)
    let answer = try LookupResults(
      json: body, maximumSize: configuration.maximumAnswerSize, source: subject)
    let timeToLive =
      answer.listings.isEmpty
      ? min(configuration.emptyTimeToLive, configuration.timeToLive) : configuration.timeToLive
    cache.store(answer, for: subject, seconds: timeToLive.inSeconds, at: clock.now())
    return answer
  }

  private func waitForReservation(subject: String) async throws {
    let start = clock.now()
    var seconds = try wait(limiter.reserve(at: start), subject)
    let slot = start + seconds
    do {
      while seconds > 0 {
        try await clock.sleep(seconds)
        seconds = try wait(limiter.recheck(at: clock.now(), since: start), subject)
      }
    } catch {
      limiter.release(slot)
      throw error
    }
  }

  /// Returns the seconds to wait; throws if the call is refused.
  private func wait(_ reservation: CallLimiter.Reservation, _ subject: String) throws -> Double {
    switch reservation {
    case .after(let seconds): return seconds
    case .refused(let seconds):
      throw ContentError.throttled(
        "More than \(configuration.maximumCallsPerMinute) lookups per minute, or the "
          + "server asked to wait", seconds: seconds, subject: subject)
    }
  }

  /// Finds an app in `country`.
  ///
  /// If it is not there, also asks the `candidates`, to find the reason. Without a result, it asks
  /// the same storefront again without caches, then each candidate in turn: at most
  /// `candidates.count + 2` calls. Throws like `lookUp`.
  public func find(
    _ key: LookupQuery.Key, country: CountryCode? = nil, candidates: [CountryCode] = [],
    entity: String? = nil, caching: LookupCachePolicy = .useCache
  ) async throws -> AppFinding {
    let wanted = country ?? configuration.country
    if let listing = try await first(key, in: wanted, entity, caching) { return .offered(listing) }
    if caching != .reloadIgnoringAllCaches,
      let listing = try await first(key, in: wanted, entity, .reloadIgnoringAllCaches)
    {
      return .lagging(listing)
    }
    var tried = [wanted]
    for candidate in candidates where !tried.contains(candidate) {
      tried.append(candidate)
      if let listing = try await first(key, in: candidate, entity, caching) {
        return .elsewhere(listing, in: candidate)
      }
    }
    return .unknown(tried: tried)
  }

  private func first(
    _ key: LookupQuery.Key, in country: CountryCode, _ entity: String?, _ caching: LookupCachePolicy
  ) async throws -> AppListing? {
    let answer = try await lookUp(
      LookupQuery(key, country: country, entity: entity), caching: caching)
    return answer.listings.first(where: key.names)
  }
}

extension ContentError {
  static func throttled(_ message: String, seconds: Double, subject: String) -> ContentError {
    ContentError(
      .lookupThrottled, message, remedy: "Try again in \(Int(seconds.rounded(.up))) seconds",
      subject: subject)
  }
}

extension URL {
  /// The URL of `path` below this URL, with a query of `parameters`.
  func appending(_ path: String, _ parameters: [QueryParameter]) throws -> URL {
    var base = absoluteString
    while base.hasSuffix("/") { base.removeLast() }
    let query = parameters.map(\.encoded).joined(separator: "&")
    guard let scheme, ["http", "https"].contains(scheme.lowercased()), host() != nil,
      !base.contains("?"), !base.contains("#"), let url = URL(string: "\(base)/\(path)?\(query)")
    else {
      throw ContentError(
        .queryInvalid, "“\(base.printable(limit: 200))” is not a valid server URL",
        remedy: "Use an https URL without a query", subject: base.printable(limit: 200))
    }
    try WebURL(base).checkSecure()
    // The server's URL is valid, so the query makes this one too long.
    guard (try? WebURL(url.absoluteString)) != nil else {
      throw ContentError(
        .queryInvalid, "The query's URL has \(url.absoluteString.utf8.count) bytes, too many",
        remedy: "Split it into several queries", subject: base.printable(limit: 200))
    }
    return url
  }
}

/// The result of a search for an app.
///
/// It distinguishes the reasons for a `resultCount` of 0.
public enum AppFinding: Hashable, Sendable, CustomStringConvertible {
  /// The requested storefront offers the app.
  case offered(AppListing)
  /// The requested storefront offers the app, but caches do not have it yet.
  case lagging(AppListing)
  /// The requested storefront does not offer the app, but this one does.
  case elsewhere(AppListing, in: CountryCode)
  /// No storefront in `tried` has the app.
  ///
  /// The identifier is wrong, the app was withdrawn, the lookup does not have it yet, or it is sold
  /// in other countries only.
  case unknown(tried: [CountryCode])

  /// The app, if it was found.
  public var listing: AppListing? {
    switch self {
    case .offered(let listing), .lagging(let listing), .elsewhere(let listing, in: _): listing
    case .unknown: nil
    }
  }

  /// The result and the app, such as `offered: com.example.app 2.0`.
  public var description: String {
    switch self {
    case .offered(let app): "offered: \(app.summary)"
    case .lagging(let app): "offered, but not yet by caches: \(app.summary)"
    case .elsewhere(let app, let country): "offered in \(country) only: \(app.summary)"
    case .unknown(let tried):
      "not offered in \(tried.map(\.rawValue).joined(separator: ", "))"
    }
  }
}

/// Determines which cached answers may be used.
public enum LookupCachePolicy: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
  /// Uses a cached answer until it expires.
  case useCache
  /// Sends a request. Caches between here and the server, such as a CDN, may answer it.
  case reload
  /// Sends a request with a URL and a header that bypass all caches.
  case reloadIgnoringAllCaches
}

/// A cache of recent answers; pure: `now` is a parameter.
private struct LookupCache {
  /// The maximum number of answers; the one that expires first is removed first.
  let capacity: Int
  private var entries: [String: Entry] = [:]

  private struct Entry {
    let answer: LookupResults
    let stored: Date
    let ends: Date
  }

  init(capacity: Int) { self.capacity = max(0, capacity) }

  func answer(for url: String, at now: Date) -> LookupResults? {
    guard let entry = entries[url], entry.stored <= now, now < entry.ends else { return nil }
    return entry.answer
  }

  /// Stores an answer for a number of seconds; 0 does not store it.
  mutating func store(_ answer: LookupResults, for url: String, seconds: Double, at now: Date) {
    entries[url] = seconds > 0 ? Entry(answer: answer, stored: now, ends: now + seconds) : nil
    if entries.count > capacity, let first = entries.min(by: { $0.value.ends < $1.value.ends }) {
      entries[first.key] = nil
    }
  }
}

/// Limits the rate of calls to a server; pure: `now` is a parameter.
struct CallLimiter {
  let callsPerMinute: Int
  /// The maximum wait in seconds.
  let maximumWait: Double
  /// The times of recent and planned calls, in order.
  private var calls: [Date] = []
  /// Set while the server asks to wait.
  private var blockedUntil: Date?

  init(callsPerMinute: Int, maximumWait: Double) {
    self.callsPerMinute = max(1, callsPerMinute)
    self.maximumWait = max(0, maximumWait)
  }

  enum Reservation: Hashable {
    /// Call after this number of seconds. The slot is reserved.
    case after(seconds: Double)
    /// Do not call. A slot is free after this number of seconds.
    case refused(seconds: Double)
  }

  mutating func reserve(at now: Date) -> Reservation {
    // Entries beyond the maximum wait are from before the clock was set back.
    calls.removeAll { $0 <= now - 60 || $0 > now + maximumWait + 60 }
    var date = now + block(at: now)
    if calls.count >= callsPerMinute {
      date = max(date, calls[calls.count - callsPerMinute] + 60)
    }
    let wait = date.timeIntervalSince(now)
    guard wait <= maximumWait else { return .refused(seconds: wait) }
    calls.append(date)
    return .after(seconds: wait)
  }

  /// Frees the slot that was reserved for `date`, because the call is not made.
  mutating func release(_ date: Date) {
    // The sum of a date and a wait is rounded.
    if let slot = calls.firstIndex(where: { abs($0.timeIntervalSince(date)) < 0.001 }) {
      calls.remove(at: slot)
    }
  }

  /// Checks again after a wait since `start`: a server may have asked to wait in the meantime.
  mutating func recheck(at now: Date, since start: Date) -> Reservation {
    let wait = block(at: now)
    let isOver = wait > 0 && now.timeIntervalSince(start) + wait > maximumWait
    return isOver ? .refused(seconds: wait) : .after(seconds: wait)
  }

  /// The seconds until the server may be called again, at most one day.
  private mutating func block(at now: Date) -> Double {
    if let until = blockedUntil, until <= now || until > now + 86_400 { blockedUntil = nil }
    return blockedUntil?.timeIntervalSince(now) ?? 0
  }

  /// Records that the server asks to wait; a longer wait from before is kept.
  mutating func block(forSeconds seconds: Double, at now: Date) {
    blockedUntil = max(now + seconds, blockedUntil ?? now)
  }
}

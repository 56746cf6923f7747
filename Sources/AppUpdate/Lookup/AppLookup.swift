import ContentTransfer
public import FoundationEssentials

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
    public var country: CountryCode
    /// The lifetime of a cached answer in seconds.
    ///
    /// Default: 4 hours.
    public var timeToLive: Double
    /// The lifetime of a cached answer without results, in seconds.
    ///
    /// Default: 5 minutes.
    public var emptyTimeToLive: Double
    /// The maximum number of cached answers.
    public var cachedAnswers: Int
    /// The maximum number of calls per minute.
    ///
    /// Apple allows about 20.
    public var callsPerMinute: Int
    /// The maximum time that a call waits because of the rate limit, in seconds.
    ///
    /// Then it fails. Default: one minute.
    public var maximumWait: Double
    /// The timeout of a call in seconds.
    public var timeout: Double
    /// The maximum size of an answer in bytes.
    public var answerLimit: Int

    /// Creates the default configuration, for Apple's server or another one.
    public init(server: URL? = nil) {
      self.server = server ?? AppLookup.appleServer
      country = .us
      timeToLive = 4 * 3600
      emptyTimeToLive = 300
      cachedAnswers = 256
      callsPerMinute = 20
      maximumWait = 60
      timeout = 20
      answerLimit = 16 << 20
    }
  }

  // The text is a valid URL. An invalid URL would make calls fail.
  /// Apple's server for lookups and searches.
  public static let appleServer =
    URL(string: "https://itunes.apple.com") ?? URL(filePath: "/")

  /// The configuration.
  public nonisolated let configuration: Configuration
  private let transport: any LookupTransport
  private let clock: AppUpdateClock
  private var limiter: CallLimiter
  private var cache: LookupCache

  /// Creates a lookup that sends its requests with `transport`.
  public init(_ configuration: Configuration = Configuration(), transport: any LookupTransport) {
    self.init(configuration, transport: transport, clock: .system)
  }

  package init(
    _ configuration: Configuration, transport: any LookupTransport, clock: AppUpdateClock
  ) {
    self.configuration = configuration
    self.transport = transport
    self.clock = clock
    limiter = CallLimiter(
      callsPerMinute: configuration.callsPerMinute, maximumWait: configuration.maximumWait)
    cache = LookupCache(capacity: configuration.cachedAnswers)
  }

  // MARK: Queries

  /// Looks up apps.
  ///
  /// `caching` determines which caches may answer. Throws `queryInvalid` and `appIdentifierInvalid`
  /// before anything is sent, `lookupThrottled` if the rate limit or the server requires a longer
  /// wait than `maximumWait`, `insecureConnectionRefused` for a server over plain HTTP,
  /// `requestRefused`, `serverFailed`, `answerUnreadable`, and errors of the transport.
  public func lookUp(
    _ query: LookupQuery, caching: LookupCachePolicy = .useCache
  ) async throws -> LookupAnswer {
    var query = query
    query.country = query.country ?? configuration.country
    return try await answer("lookup", query.parameters(), caching)
  }

  /// Searches apps.
  ///
  /// Throws like `lookUp`.
  public func search(
    _ query: SearchQuery, caching: LookupCachePolicy = .useCache
  ) async throws -> LookupAnswer {
    var query = query
    query.country = query.country ?? configuration.country
    return try await answer("search", query.parameters(), caching)
  }

  // MARK: Calls

  private func answer(
    _ path: String, _ parameters: [QueryParameter], _ caching: LookupCachePolicy
  ) async throws -> LookupAnswer {
    let plain = try url(path, parameters)
    if caching == .useCache, let known = cache.answer(for: plain.absoluteString, at: clock.now()) {
      return known
    }
    let isFresh = caching == .reloadIgnoringAllCaches
    let address = isFresh ? try url(path, parameters + [.unique]) : plain
    try await waitForReservation(subject: plain.absoluteString)
    let request = LookupRequest(
      url: address, isFresh: isFresh, limit: configuration.answerLimit,
      timeout: configuration.timeout)
    let response = try await transport.get(request)
    let answer = try read(response, of: plain)
    let seconds =
      answer.results.isEmpty
      ? min(configuration.emptyTimeToLive, configuration.timeToLive) : configuration.timeToLive
    cache.store(answer, for: plain.absoluteString, seconds: seconds, at: clock.now())
    return answer
  }

  private func read(_ response: LookupResponse, of url: URL) throws -> LookupAnswer {
    switch response.outcome(of: url, now: clock.now()) {
    case .body(let bytes):
      return try LookupAnswer(
        json: bytes, limit: configuration.answerLimit, source: url.absoluteString)
    case .wait(let seconds):
      limiter.block(forSeconds: seconds, at: clock.now())
      throw ContentError.throttled(
        "\(url.host() ?? "The server") returned status \(response.status) and asks to wait",
        seconds: seconds, subject: url.absoluteString)
    case .failed(let error): throw error
    }
  }

  private func waitForReservation(subject: String) async throws {
    var reservation = limiter.reserve(at: clock.now())
    while true {
      switch reservation {
      case .after(let seconds) where seconds <= 0: return
      case .after(let seconds): try await clock.sleep(seconds)
      case .refused(let seconds):
        throw ContentError.throttled(
          "More than \(configuration.callsPerMinute) lookups per minute, or the "
            + "server asked to wait", seconds: seconds, subject: subject)
      }
      reservation = limiter.recheck(at: clock.now())
    }
  }

  private func url(_ path: String, _ parameters: [QueryParameter]) throws -> URL {
    try configuration.server.appending(path, parameters)
  }
}

extension ContentError {
  /// The server must not be called for some time.
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
    try WebURL(url.absoluteString).checkSecure()
    return url
  }
}

import ContentTransfer
public import FoundationEssentials

/// Looks apps up and searches them in Apple's store, or in one's own server of the same form.
///
/// Answers are kept for some hours, calls are spread over time, and a server that asks to wait is
/// heard. May be used from any task.
public actor AppLookup {
  /// What a look-up works with.
  public struct Configuration: Sendable {
    /// The server; `/lookup` and `/search` are below it.
    ///
    /// It must speak HTTPS, unless it is on this machine. Default: Apple's.
    public var server: URL
    /// The storefront where a query names none.
    public var country: CountryCode
    /// Seconds that an answer is kept.
    ///
    /// Default: 4 hours.
    public var timeToLive: Double
    /// Seconds that an answer without results is kept.
    ///
    /// Default: 5 minutes.
    public var emptyTimeToLive: Double
    /// Answers that are kept at most.
    public var cachedAnswers: Int
    /// Calls in a minute at most.
    ///
    /// Apple allows about 20.
    public var callsPerMinute: Int
    /// Seconds that a call waits for its turn at most, before it fails.
    ///
    /// Default: a minute.
    public var patience: Double
    /// Seconds until a call fails.
    public var timeout: Double
    /// Bytes of an answer that are taken at most.
    public var answerLimit: Int

    /// Takes Apple's server and the defaults, or a server of one's own.
    public init(server: URL? = nil) {
      self.server = server ?? AppLookup.appleServer
      country = .us
      timeToLive = 4 * 3600
      emptyTimeToLive = 300
      cachedAnswers = 256
      callsPerMinute = 20
      patience = 60
      timeout = 20
      answerLimit = 16 << 20
    }
  }

  // The text is a URL; were it none, the calls would be refused.
  /// Apple's server for look-ups and searches.
  public static let appleServer =
    URL(string: "https://itunes.apple.com") ?? URL(filePath: "/")

  /// What it works with.
  public nonisolated let configuration: Configuration
  private let transport: any LookupTransport
  private let clock: AppUpdateClock
  private var limiter: CallLimiter
  private var cache: LookupCache

  /// Creates a look-up that sends its requests by `transport`.
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
      callsPerMinute: configuration.callsPerMinute, patience: configuration.patience)
    cache = LookupCache(capacity: configuration.cachedAnswers)
  }

  // MARK: Questions

  /// Looks apps up; `caching` says which caches may answer.
  ///
  /// Throws `queryInvalid` and `appIdentifierInvalid` before anything is sent, `lookupThrottled`
  /// when a turn would take longer than one's patience or the server asks to wait,
  /// `insecureConnectionRefused` for a server over plain HTTP, `requestRefused`, `serverFailed`,
  /// `answerUnreadable`, and what the transport throws.
  public func lookUp(
    _ query: LookupQuery, caching: LookupCachePolicy = .useCache
  ) async throws -> LookupAnswer {
    var query = query
    query.country = query.country ?? configuration.country
    return try await answer("lookup", query.parameters(), caching)
  }

  /// Searches apps; throws as `lookUp` does.
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
    try await waitForTurn(subject: plain.absoluteString)
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
        "\(url.host() ?? "The server") answers with status \(response.status) and asks to wait",
        seconds: seconds, subject: url.absoluteString)
    case .failed(let error): throw error
    }
  }

  private func waitForTurn(subject: String) async throws {
    var turn = limiter.takeTurn(at: clock.now())
    while true {
      switch turn {
      case .after(let seconds) where seconds <= 0: return
      case .after(let seconds): try await clock.sleep(seconds)
      case .refused(let seconds):
        throw ContentError.throttled(
          "More than \(configuration.callsPerMinute) look-ups a minute were asked for, or the "
            + "server asked to wait", seconds: seconds, subject: subject)
      }
      turn = limiter.keepTurn(at: clock.now())
    }
  }

  private func url(_ path: String, _ parameters: [QueryParameter]) throws -> URL {
    try configuration.server.appending(path, parameters)
  }
}

extension ContentError {
  /// A server must not be called for some time.
  static func throttled(_ message: String, seconds: Double, subject: String) -> ContentError {
    ContentError(
      .lookupThrottled, message, remedy: "Try again in \(Int(seconds.rounded(.up))) seconds",
      subject: subject)
  }
}

extension URL {
  /// The URL of `path` below this one, with a query of `parameters`.
  func appending(_ path: String, _ parameters: [QueryParameter]) throws -> URL {
    var base = absoluteString
    while base.hasSuffix("/") { base.removeLast() }
    let query = parameters.map(\.encoded).joined(separator: "&")
    guard let scheme, ["http", "https"].contains(scheme.lowercased()), host() != nil,
      !base.contains("?"), !base.contains("#"), let url = URL(string: "\(base)/\(path)?\(query)")
    else {
      throw ContentError(
        .queryInvalid, "“\(base.printable(limit: 200))” is no server that can be asked",
        remedy: "Use an https URL without a query", subject: base.printable(limit: 200))
    }
    try WebURL(url.absoluteString).checkSecure()
    return url
  }
}

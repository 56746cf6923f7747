public import FoundationEssentials
import Concurrency

/// Looks in a store by Apple ID or bundle identifier.
public struct StoreUpdateSource: AppUpdateSource {
  private let lookup: AppLookup
  private let key: LookupQuery.Key
  private let country: CountryCode?
  private let candidates: [CountryCode]
  private let entity: String?

  /// Looks for `key` in `country`, then in the storefronts that are candidates.
  ///
  /// For a Mac app, `entity` is `macSoftware`: without it Apple finds the app for telephones if
  /// both have the same identifier.
  public init(
    _ lookup: AppLookup, key: LookupQuery.Key, country: CountryCode? = nil,
    candidates: [CountryCode] = [], entity: String? = nil
  ) {
    self.entity = entity
    self.lookup = lookup
    self.key = key
    self.country = country
    self.candidates = candidates
  }

  /// What the store offers; nil when none of the storefronts knows the app.
  public func newestOffer(
    for app: InstalledApp, account: String?, caching: LookupCachePolicy
  ) async throws -> UpdateOffer? {
    let finding = try await lookup.find(
      key, country: country, candidates: candidates, entity: entity, caching: caching)
    return finding.listing.map { UpdateOffer($0) }
  }
}

/// Asks one's own server: `GET /app-version?bundleId=…&version=…`.
///
/// After an answer that asks to wait, it does not call the server before that time.
public final class ServerUpdateSource: AppUpdateSource {
  private let server: URL
  private let bundleID: String
  private let country: CountryCode?
  private let transport: any LookupTransport
  private let timeout: Double
  private let limiter = Mutex(CallLimiter(callsPerMinute: .max, patience: 0))

  /// Asks `server`, which must speak HTTPS unless it is on this machine, about an app; fails after
  /// `timeout` seconds.
  ///
  /// Without a `country` the server answers for any.
  public init(
    server: URL, bundleID: String, country: CountryCode? = nil, transport: any LookupTransport,
    timeout: Double = 20
  ) {
    self.server = server
    self.bundleID = bundleID
    self.country = country
    self.transport = transport
    self.timeout = timeout
  }

  /// What the server says; the account is sent to it where one is logged in.
  public func newestOffer(
    for app: InstalledApp, account: String?, caching: LookupCachePolicy
  ) async throws -> UpdateOffer? {
    UpdateOffer(try await answer(for: app, account: account, caching: caching))
  }

  /// The server's answer; throws `insecureConnectionRefused` for a server over plain HTTP,
  /// `lookupThrottled`, `requestRefused`, `serverFailed`, `answerUnreadable`, and what the
  /// transport throws.
  public func answer(
    for app: InstalledApp, account: String?, caching: LookupCachePolicy = .reload
  ) async throws -> AppVersionAnswer {
    var parameters = [
      QueryParameter("bundleId", bundleID), QueryParameter("version", app.version.rawValue),
    ]
    if let account { parameters.append(QueryParameter("account", account)) }
    if let country { parameters.append(QueryParameter("country", country.rawValue)) }
    if caching == .reloadIgnoringAllCaches { parameters.append(.unique) }
    let url = try server.appending("app-version", parameters)
    if case .refused(let seconds) = limiter.withLock({ $0.keepTurn(at: Date()) }) {
      throw ContentError.throttled(
        "\(server.host() ?? "The server") asked to wait", seconds: seconds,
        subject: server.absoluteString)
    }
    // What an account is told must not come out of a cache for another moment.
    let request = LookupRequest(url: url, isFresh: true, limit: 1 << 20, timeout: timeout)
    let response = try await transport.get(request)
    switch response.outcome(of: url, now: Date()) {
    case .body(let bytes): return try AppVersionAnswer(json: bytes, source: server.absoluteString)
    case .wait(let seconds):
      limiter.withLock { $0.block(forSeconds: seconds, at: Date()) }
      throw ContentError.throttled(
        "\(server.host() ?? "The server") answers with status \(response.status) and asks to wait",
        seconds: seconds, subject: server.absoluteString)
    case .failed(let error): throw error
    }
  }
}

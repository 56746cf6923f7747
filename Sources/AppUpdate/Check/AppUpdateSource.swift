public import FoundationEssentials
import HostedConcurrency

/// A source for the newest version: a store's lookup or your own server.
///
/// You can provide your own implementation. Several tasks may call it at once.
public protocol AppUpdateSource: Sendable {
  /// Returns the newest offered version; nil if no storefront offers the app.
  ///
  /// `account` is nil if no account is logged in. `caching` determines which caches may answer. The
  /// checker calls it from a task of its own, and reports a thrown error to its observers. It must
  /// return or throw in the end, because later checks for the same account wait for it.
  func newestOffer(
    for app: InstalledApp, account: AccountID?, caching: LookupCachePolicy
  ) async throws -> UpdateOffer?
}

/// Checks a store by Apple ID or bundle identifier.
public struct StoreUpdateSource: AppUpdateSource {
  private let lookup: AppLookup
  private let key: LookupQuery.Key
  private let country: CountryCode?
  private let candidates: [CountryCode]
  private let entity: String?

  /// Creates a source that looks up `key` in `country`, then in the candidate storefronts.
  ///
  /// For a Mac app, set `entity` to `macSoftware`. Otherwise, Apple returns the iPhone app if both
  /// have the same identifier.
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

  /// Returns the store's offer; nil if no storefront has the app.
  ///
  /// Throws like `AppLookup.lookUp(_:caching:)`.
  public func newestOffer(
    for app: InstalledApp, account: AccountID?, caching: LookupCachePolicy
  ) async throws -> UpdateOffer? {
    let finding = try await lookup.find(
      key, country: country, candidates: candidates, entity: entity, caching: caching)
    return finding.listing.map { UpdateOffer($0) }
  }
}

/// Checks your own server: `GET /app-version?bundleId=…&version=…`.
///
/// If the server asks to wait, it is not called before that time.
public final class ServerUpdateSource: AppUpdateSource {
  private let server: URL
  private let bundleID: String
  private let country: CountryCode?
  private let entity: String?
  private let transport: any LookupTransport
  private let timeout: Duration
  private let limiter = Mutex(CallLimiter(callsPerMinute: .max, maximumWait: 0))

  /// Creates a source for `server`, which must use HTTPS unless it is on this machine.
  ///
  /// A request fails after `timeout`. Without a `country`, the server answers for any country.
  /// `entity` is `macSoftware` for a Mac app.
  public init(
    server: URL, bundleID: String, country: CountryCode? = nil, entity: String? = nil,
    transport: any LookupTransport, timeout: Duration = .seconds(20)
  ) {
    self.server = server
    self.bundleID = bundleID
    self.country = country
    self.entity = entity
    self.transport = transport
    self.timeout = timeout
  }

  /// Returns the server's offer.
  ///
  /// The request contains the account if one is logged in. Throws like `answer`.
  public func newestOffer(
    for app: InstalledApp, account: AccountID?, caching: LookupCachePolicy
  ) async throws -> UpdateOffer? {
    UpdateOffer(try await answer(for: app, account: account, caching: caching))
  }

  /// Returns the server's answer.
  ///
  /// Caches must ask the server before they answer; `reloadIgnoringAllCaches` also makes the URL
  /// unique. Throws `queryInvalid` for an invalid entity, a server URL with a query or another
  /// scheme, a URL of more than 8,192 bytes, and if the server refuses the query, `usage` for a
  /// server URL with a user name, `insecureConnectionRefused` for a server over plain HTTP,
  /// `lookupThrottled`, `requestRefused`, also for an unknown app, `serverFailed`,
  /// `answerUnreadable`, and errors of the transport.
  public func answer(
    for app: InstalledApp, account: AccountID?, caching: LookupCachePolicy = .reload
  ) async throws -> AppVersionAnswer {
    var parameters = [
      QueryParameter("bundleId", bundleID), QueryParameter("version", app.version.rawValue),
    ]
    if let account { parameters.append(QueryParameter("account", account.rawValue)) }
    if let country { parameters.append(QueryParameter("country", country.rawValue)) }
    if let entity { parameters.append(try QueryParameter("entity", word: entity)) }
    if caching == .reloadIgnoringAllCaches { parameters.append(.unique) }
    let url = try server.appending("app-version", parameters)
    let start = Date()
    if case .refused(let seconds) = limiter.withLock({ $0.recheck(at: start, since: start) }) {
      throw ContentError.throttled(
        "\(server.host() ?? "The server") asked to wait", seconds: seconds,
        subject: server.absoluteString)
    }
    // The answer for an account must not come from a cache.
    let request = LookupRequest(url: url, revalidates: true, maximumSize: 1 << 20, timeout: timeout)
    let response = try await transport.get(request)
    let now = Date()
    let wait = response.requestedWait(at: now)
    if let wait { limiter.withLock { $0.block(forSeconds: wait, at: now) } }
    let body = try response.checkedBody(from: url, wait: wait, subject: server.absoluteString)
    return try AppVersionAnswer(json: body, source: server.absoluteString)
  }
}

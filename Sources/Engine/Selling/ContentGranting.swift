public import HostedModel
public import FoundationEssentials

/// A store service with content that is only for buyers.
///
/// The queue asks for the URLs of content before it fetches it, before they expire, and after a
/// server refused them. The catalog and files without a URL are fetched from the store and its
/// mirrors. A service in `PaymentQueue.Configuration.seller` need not forward the call.
public protocol ContentGranting: StoreService {
  /// Returns URLs of the package and the index of each of `contents`, 1 to 64, for an account.
  ///
  /// A nil account means the library's own. Return URLs of the same servers in the same order each
  /// time. The library tries again after a retryable error (`ContentError.isRetryable`), so try
  /// only once. Any other `ContentError` ends the download. Throw `accessDenied` if the account
  /// does not own one of the contents. The library then asks for each one alone.
  func contentGrants(for contents: [ContentOffer], account: AccountID?) async throws
    -> ContentGrants
}

/// URLs of content, for a limited time.
///
/// Their queries are secret, so the description does not contain URLs. Credentials in
/// `NetworkSettings` are not sent to a URL with a query.
public struct ContentGrants: Sendable, CustomStringConvertible {
  /// The URLs of a file at one or several servers, in order of preference, by its path in a store.
  ///
  /// The path is that of `ContentOffer.package` or `ContentOffer.index`.
  public var urls: [String: [URL]]
  /// The time from the call until the URLs expire, or nil if they do not expire.
  ///
  /// Compute it from the server's date, since the clocks may differ.
  public var lifetime: Duration?

  /// Creates grants.
  public init(urls: [String: [URL]], lifetime: Duration?) {
    self.urls = urls
    self.lifetime = lifetime
  }

  /// The number of files, without secrets.
  public var description: String { "URLs of \(urls.count) files" }
}

import AppUpdate
import HostedConcurrency
import HostedContent

/// The store page of an item, without a screen: it loads the data to show.
///
/// Call `userDidFinish()` when the user closes the page. Items are looked up as configured by
/// `lookup`.
// Sendable because all mutable state is protected by a lock.
open class SKStoreProductViewController: NSObject, @unchecked Sendable {
  private let host: StoreHost
  private let state = Mutex(State())

  private struct State {
    var delegate = WeakReference<any SKStoreProductViewControllerDelegate>()
    /// Created by the first load; later ones use its cache and its rate limit.
    var lookup: AppLookup?
    var pageURL: URL?
    /// Counts loads: only the last one sets the page.
    var loads = 0
  }

  /// Creates an empty page.
  public override init() { host = .shared }

  /// Creates a page for another queue; not in Apple's API.
  public convenience init(queue: SKPaymentQueue) { self.init(host: queue.host) }

  private init(host: StoreHost) { self.host = host }

  /// The delegate, notified when the user closes the page; not retained.
  open weak var delegate: (any SKStoreProductViewControllerDelegate)? {
    get { state.withLock { $0.delegate }.object }
    set {
      let reference = WeakReference(newValue)
      state.withLock { $0.delegate = reference }
    }
  }

  /// Loads an item's page and calls `block` on the delivery queue.
  ///
  /// The error is `SKError.storeProductNotAvailable`, with the reason as underlying error.
  /// Parameters have the keys `SKStoreProductParameter…`.
  open func loadProduct(
    withParameters parameters: [String: Any],
    completionBlock block: (@Sendable (Bool, (any Error)?) -> Void)? = nil
  ) {
    let request = Result { try ProductPageParameters(storeKit: parameters) }
    let number = nextLoad()
    Task { [self] in
      let failure = await load(request, number)
      host.deliver { block?(failure == nil, failure) }
    }
  }

  /// Loads an item's page; throws the errors of the method with a block.
  @discardableResult
  open func loadProduct(withParameters parameters: [String: Any]) async throws -> Bool {
    let request = Result { try ProductPageParameters(storeKit: parameters) }
    if let failure = await load(request, nextLoad()) { throw failure }
    return true
  }

  /// The URL of the page that was loaded last, with the parameters' tokens; nil if that failed.
  ///
  /// Not in Apple's API.
  public var pageURL: URL? { state.withLock { $0.pageURL } }

  /// Notifies the delegate, on the delivery queue, that the user closed the page.
  ///
  /// Not in Apple's API.
  public func userDidFinish() {
    host.deliver { [self] in delegate?.productViewControllerDidFinish(self) }
  }

  private func nextLoad() -> Int {
    state.withLock { state in
      state.loads += 1
      return state.loads
    }
  }

  /// Loads a page; returns the error if it fails.
  private func load(_ request: Result<ProductPageParameters, any Error>, _ number: Int) async
    -> SKError?
  {
    do {
      let page = try await lookup().productPage(for: request.get())
      setPage(page.url, of: number)
      return nil
    } catch {
      setPage(nil, of: number)
      let cause = ContentError(error, while: "loading a page")
      return SKError.make(
        .storeProductNotAvailable,
        [
          NSLocalizedDescriptionKey: "Cannot connect to the store: \(cause.message)",
          NSLocalizedRecoverySuggestionErrorKey: cause.remedy, NSUnderlyingErrorKey: cause,
        ])
    }
  }

  private func setPage(_ url: URL?, of load: Int) {
    state.withLock { if $0.loads == load { $0.pageURL = url } }
  }

  private func lookup() throws -> AppLookup {
    if let lookup = state.withLock({ $0.lookup }) { return lookup }
    // Created outside the lock, because a configuration from the environment reads a file.
    let new = AppLookup(host.lookup, transport: try HTTPLookupTransport())
    return state.withLock { state in
      let lookup = state.lookup ?? new
      state.lookup = lookup
      return lookup
    }
  }
}

/// Receives the end of a store page.
public protocol SKStoreProductViewControllerDelegate: NSObjectProtocol {
  /// The user closed the page; called on the delivery queue.
  func productViewControllerDidFinish(_ viewController: SKStoreProductViewController)
}

extension SKStoreProductViewControllerDelegate {
  /// Does nothing.
  public func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {}
}

/// The number of the item, an `NSNumber` or digits; required.
public let SKStoreProductParameterITunesItemIdentifier = "id"
/// The product of the app to offer, a text.
public let SKStoreProductParameterProductIdentifier = "productIdentifier"
/// The custom product page of the app, a UUID as text.
public let SKStoreProductParameterCustomProductPageIdentifier = "ppid"
/// The affiliate token, a text.
public let SKStoreProductParameterAffiliateToken = "at"
/// The campaign token, a text of at most 40 bytes.
public let SKStoreProductParameterCampaignToken = "ct"
/// The provider token of the campaign, a text.
public let SKStoreProductParameterProviderToken = "pt"
/// The token of the advertising partner, a text.
public let SKStoreProductParameterAdvertisingPartnerToken = "advp"

extension ProductPageParameters {
  /// Reads StoreKit's keys.
  ///
  /// Throws `appIdentifierInvalid` if the item is missing or is not a number of at least 1.
  init(storeKit parameters: [String: Any]) throws {
    let text = { (key: String) in parameters[key].flatMap { ($0 as? String) ?? "\($0)" } }
    let item = text(SKStoreProductParameterITunesItemIdentifier) ?? ""
    self.init(itemIdentifier: try AppleID(validating: item))
    productIdentifier = text(SKStoreProductParameterProductIdentifier)
    customProductPageIdentifier = text(SKStoreProductParameterCustomProductPageIdentifier)
    affiliateToken = text(SKStoreProductParameterAffiliateToken)
    campaignToken = text(SKStoreProductParameterCampaignToken)
    providerToken = text(SKStoreProductParameterProviderToken)
    advertisingPartnerToken = text(SKStoreProductParameterAdvertisingPartnerToken)
  }
}

import AppUpdate
public import Foundation
import HostedContent
import Concurrency

/// A store's page of one item, without a screen: it loads what is to be shown.
///
/// Whoever shows it calls `userDidFinish()` when the user is done. Items are looked up where the
/// configuration's `lookup` says.
// Sendable because all that changes is behind a lock.
open class SKStoreProductViewController: NSObject, @unchecked Sendable {
  private let host: StoreHost
  private let state = Mutex(State())

  private struct State {
    var delegate = WeakReference<any SKStoreProductViewControllerDelegate>()
    var lookup: AppLookup?
    var page: ProductPage?
  }

  /// Creates a page of nothing yet.
  public override init() { host = .shared }

  /// Creates a page of another queue than the app's; not in Apple's API.
  public convenience init(queue: SKPaymentQueue) { self.init(host: queue.host) }

  private init(host: StoreHost) { self.host = host }

  /// Who hears that the user is done; not retained.
  open weak var delegate: (any SKStoreProductViewControllerDelegate)? {
    get { state.withLock { $0.delegate }.object }
    set {
      let reference = WeakReference(newValue)
      state.withLock { $0.delegate = reference }
    }
  }

  /// Loads an item's page and calls `block` on the delivery queue.
  ///
  /// The error is `SKError.storeProductNotAvailable`; its underlying error says why. Parameters
  /// have the keys `SKStoreProductParameter…`.
  open func loadProduct(
    withParameters parameters: [String: Any],
    completionBlock block: (@Sendable (Bool, (any Error)?) -> Void)? = nil
  ) {
    let parameters = ProductPageParameters(storeKit: parameters)
    Task { [self] in
      let failure: (any Error)?
      do {
        try await load(parameters)
        failure = nil
      } catch {
        failure = Self.notAvailable(error)
      }
      host.deliver { block?(failure == nil, failure) }
    }
  }

  /// Loads an item's page; throws as the other one reports.
  @discardableResult
  open func loadProduct(withParameters parameters: [String: Any]) async throws -> Bool {
    let parameters = ProductPageParameters(storeKit: parameters)
    do {
      try await load(parameters)
    } catch {
      throw Self.notAvailable(error)
    }
    return true
  }

  /// The loaded page's address, with the parameters' tokens; nil before.
  ///
  /// Not in Apple's API.
  public var pageURL: URL? { state.withLock { $0.page }?.content?.url }

  /// The user is done; the delegate hears it on the delivery queue.
  ///
  /// Not in Apple's API.
  public func userDidFinish() {
    host.deliver { [self] in delegate?.productViewControllerDidFinish(self) }
  }

  private func load(_ parameters: ProductPageParameters) async throws {
    try await page().load(parameters)
  }

  private func page() throws -> ProductPage {
    // Made outside the lock, since the environment's configuration reads a file.
    let new = ProductPage(
      lookup: AppLookup(host.lookup, transport: try HTTPLookupTransport()))
    return state.withLock { state in
      let page = state.page ?? new
      state.page = page
      return page
    }
  }

  private static func notAvailable(_ error: any Error) -> SKError {
    let cause = (error as? ProductPageError)?.cause ?? ContentError(error, while: "loading a page")
    return .make(
      .storeProductNotAvailable,
      [
        NSLocalizedDescriptionKey: "Cannot connect to the store: \(cause.message)",
        NSLocalizedRecoverySuggestionErrorKey: cause.remedy, NSUnderlyingErrorKey: cause,
      ])
  }
}

/// Who hears that the user is done with a page.
public protocol SKStoreProductViewControllerDelegate: NSObjectProtocol {
  /// The user is done; called on the delivery queue.
  func productViewControllerDidFinish(_ viewController: SKStoreProductViewController)
}

extension SKStoreProductViewControllerDelegate {
  /// Does nothing.
  public func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {}
}

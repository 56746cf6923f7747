public import Dispatch
public import FoundationEssentials
import Concurrency

/// A store's product page without a user interface: loads the content, and reports the dismissal.
///
/// Can be used from any thread. Source: `SKStoreProductViewController`.
public final class ProductPage: Sendable {
  private let lookup: AppLookup
  private let queue: DispatchQueue
  private let state = Mutex(State())

  private struct State {
    weak var delegate: (any ProductPageDelegate)?
    var content: Content?
    var hasFinished = false
  }

  /// The content of the page.
  public struct Content: Hashable, Sendable {
    /// The item with all fields from the store.
    public let listing: AppListing
    /// The page's URL with the parameters' tokens.
    public let url: URL
    /// The parameters of the load.
    public let parameters: ProductPageParameters
  }

  /// Creates a page.
  ///
  /// Completions and the delegate are called on `queue`, or on a private queue.
  public init(lookup: AppLookup, deliveringOn queue: DispatchQueue? = nil) {
    self.lookup = lookup
    self.queue = DispatchQueue(label: "hostedcontent.product-page", target: queue)
  }

  /// Receives the dismissal.
  ///
  /// Held weakly.
  public var delegate: (any ProductPageDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// The last loaded content; nil before a load and after a failed one.
  public var content: Content? { state.withLock { $0.content } }

  /// Loads an item's page.
  ///
  /// Throws `ProductPageError`, code 5, for an invalid token, for an item that the store does not
  /// have, and if the store cannot be reached. Its cause has the reason.
  @discardableResult
  public func load(_ parameters: ProductPageParameters) async throws -> Content {
    try await loaded(parameters).get()
  }

  /// Loads an item's page and calls the completion once, on the delivery queue.
  ///
  /// Fails like the `async` form.
  public func load(
    _ parameters: ProductPageParameters,
    completion: @escaping @Sendable (Result<Content, ProductPageError>) -> Void
  ) {
    Task { [self] in
      let result = await loaded(parameters)
      queue.async { completion(result) }
    }
  }

  private func loaded(
    _ parameters: ProductPageParameters
  ) async -> Result<Content, ProductPageError> {
    do {
      let content = try await lookUp(parameters)
      state.withLock { state in
        state.content = content
        state.hasFinished = false
      }
      return .success(content)
    } catch {
      state.withLock { $0.content = nil }
      return .failure(ProductPageError(cause: ContentError(error, while: "loading a product page")))
    }
  }

  private func lookUp(_ parameters: ProductPageParameters) async throws -> Content {
    try parameters.check()
    let identifier = parameters.itemIdentifier
    let finding = try await lookup.find(.ids([identifier]), country: parameters.country)
    guard let listing = finding.listing, let url = parameters.pageURL(of: listing) else {
      throw ContentError(
        .appNotOffered, "The store does not have item \(identifier)",
        remedy: "Check the identifier and the storefront's country",
        subject: identifier.description)
    }
    return Content(listing: listing, url: url, parameters: parameters)
  }

  /// Call it when the user dismisses the page.
  ///
  /// The delegate is called once for each load.
  public func finish() {
    let isFirst = state.withLock { state in
      defer { state.hasFinished = true }
      return !state.hasFinished
    }
    guard isFirst else { return }
    queue.async { [self] in delegate?.productPageDidFinish(self) }
  }
}

/// Receives the dismissal of a page.
///
/// Source: `SKStoreProductViewControllerDelegate`.
public protocol ProductPageDelegate: AnyObject, Sendable {
  /// The user has dismissed the page. Called on the page's delivery queue.
  func productPageDidFinish(_ page: ProductPage)
}

/// A failure to load a page.
///
/// StoreKit has only one error code for it. The cause has the reason.
public struct ProductPageError: Error, Hashable, Sendable {
  /// StoreKit's code for an item that its store does not have: 5.
  public let code = 5
  /// The cause.
  public let cause: ContentError
}

extension ProductPageError: LocalizedError, CustomStringConvertible {
  /// StoreKit's message.
  public var errorDescription: String? { "Cannot connect to the store" }

  /// The cause, in one sentence.
  public var failureReason: String? { cause.errorDescription }

  /// The remedy for the cause.
  public var recoverySuggestion: String? { cause.remedy }

  /// Message, cause and remedy in one line.
  public var description: String { "Cannot connect to the store (error 5): \(cause)" }
}

public import Dispatch
public import FoundationEssentials
import Concurrency

/// A store's page of one item, without a screen: it loads what is to be shown, and whoever shows it
/// says when the user is done.
///
/// Source: `SKStoreProductViewController`.
public final class ProductPage: Sendable {
  private let lookup: AppLookup
  private let queue: DispatchQueue
  private let state = Mutex(State())

  private struct State {
    weak var delegate: (any ProductPageDelegate)?
    var content: Content?
    var hasFinished = false
  }

  /// What the page shows.
  public struct Content: Hashable, Sendable {
    /// The item with everything that the store says about it.
    public let listing: AppListing
    /// The page's address with the parameters' tokens.
    public let url: URL
    /// The parameters that it was loaded with.
    public let parameters: ProductPageParameters
  }

  /// Creates a page; completions and the delegate are called on `queue`, by default one of its own.
  public init(lookup: AppLookup, deliveringOn queue: DispatchQueue? = nil) {
    self.lookup = lookup
    self.queue = DispatchQueue(label: "hostedcontent.product-page", target: queue)
  }

  /// Who hears that the user is done; held weakly.
  public var delegate: (any ProductPageDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// What was loaded last; nil before, and after a load that failed.
  public var content: Content? { state.withLock { $0.content } }

  /// Loads an item's page.
  ///
  /// Throws `ProductPageError`, code 5, for an identifier that is none, for an item that the store
  /// does not have, and when the store cannot be reached; its cause says which.
  @discardableResult
  public func load(_ parameters: ProductPageParameters) async throws -> Content {
    do {
      let identifier = try AppleID(parameters.itemIdentifier)
      try parameters.check()
      let finding = try await lookup.find(.ids([identifier]), country: parameters.country)
      guard let listing = finding.listing else { throw Self.unknown(identifier) }
      guard let url = parameters.pageURL(of: listing, identifier) else {
        throw Self.unknown(identifier)
      }
      let content = Content(listing: listing, url: url, parameters: parameters)
      state.withLock { state in
        state.content = content
        state.hasFinished = false
      }
      return content
    } catch {
      state.withLock { $0.content = nil }
      throw ProductPageError(cause: ContentError(error, while: "loading a product page"))
    }
  }

  /// Loads an item's page and tells how that ended, once, on the delivery queue.
  public func load(
    _ parameters: ProductPageParameters,
    completion: @escaping @Sendable (Result<Content, ProductPageError>) -> Void
  ) {
    Task { [self] in
      let result: Result<Content, ProductPageError>
      do {
        result = .success(try await load(parameters))
      } catch {
        result = .failure(
          (error as? ProductPageError)
            ?? ProductPageError(cause: ContentError(error, while: "loading a product page")))
      }
      queue.async { completion(result) }
    }
  }

  /// The user is done with the page; the delegate hears it once for each load.
  public func finish() {
    let isFirst = state.withLock { state in
      defer { state.hasFinished = true }
      return !state.hasFinished
    }
    guard isFirst else { return }
    queue.async { [self] in delegate?.productPageDidFinish(self) }
  }

  private static func unknown(_ identifier: AppleID) -> ContentError {
    ContentError(
      .appNotOffered, "The store has no item \(identifier)",
      remedy: "Check the identifier and the storefront's country", subject: identifier.description)
  }
}

/// Who hears that the user is done with a page.
///
/// Source: `SKStoreProductViewControllerDelegate`.
public protocol ProductPageDelegate: AnyObject, Sendable {
  /// The user is done; called on the page's delivery queue.
  func productPageDidFinish(_ page: ProductPage)
}

/// Why a page is not there; StoreKit knows one reason only.
///
/// The cause tells more.
public struct ProductPageError: Error, Hashable, Sendable {
  /// StoreKit's number for an item that its store does not have: 5.
  public let code = 5
  /// What went wrong.
  public let cause: ContentError

  init(cause: ContentError) { self.cause = cause }
}

extension ProductPageError: LocalizedError, CustomStringConvertible {
  /// StoreKit's words.
  public var errorDescription: String? { "Cannot connect to the store" }

  /// What went wrong, in one sentence.
  public var failureReason: String? { cause.errorDescription }

  /// What can be done about the cause.
  public var recoverySuggestion: String? { cause.remedy }

  /// Words, cause and remedy in one line.
  public var description: String { "Cannot connect to the store (error 5): \(cause)" }
}

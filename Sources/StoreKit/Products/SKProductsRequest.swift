import HostedContent

/// Looks up products; its delegate should be an `SKProductsRequestDelegate`.
// Sendable because SKRequest is, and it is immutable.
open class SKProductsRequest: SKRequest, @unchecked Sendable {
  private let identifiers: Set<String>

  /// Creates an empty request, for subclasses in tests.
  public override init() {
    identifiers = []
    super.init()
  }

  /// Creates a request to the app's queue; the response lists invalid identifiers.
  public init(productIdentifiers: Set<String>) {
    identifiers = productIdentifiers
    super.init()
  }

  private init(_ identifiers: Set<String>, host: StoreHost) {
    self.identifiers = identifiers
    super.init(host: host)
  }

  /// Creates a request to another queue; not in Apple's API.
  public convenience init(productIdentifiers: Set<String>, queue: SKPaymentQueue) {
    self.init(productIdentifiers, host: queue.host)
  }

  override var work: @Sendable (StoreHost) async throws -> Answer {
    let identifiers = identifiers
    return { host in
      let engine = try await host.openedSession().engine
      async let storefront = engine.currentStorefront()
      let response = try await engine.products(identifiers)
      for failure in response.failures { host.refuse(failure, while: "looking up products") }
      let answer = SKProductsResponse(response, host.language, await storefront)
      return { request, delegate in
        guard let request = request as? SKProductsRequest else { return }
        (delegate as? any SKProductsRequestDelegate)?.productsRequest(request, didReceive: answer)
      }
    }
  }
}

/// Receives the response to a products request, on the delivery queue.
public protocol SKProductsRequestDelegate: SKRequestDelegate {
  /// The response arrived; `requestDidFinish` is called next.
  func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse)
}

/// The response to a products request.
// Sendable because it is immutable.
open class SKProductsResponse: NSObject, @unchecked Sendable {
  private let values: (products: [SKProduct], invalid: [String])

  /// Creates an empty response, for subclasses in tests.
  public override init() { values = ([], []) }

  init(_ response: ProductsResponse, _ language: String, _ storefront: Storefront?) {
    values = (
      response.products.map { SKProduct($0, language, storefront) },
      (response.invalidProductIdentifiers + response.failures.compactMap(\.subject)).sorted()
    )
  }

  /// The products that were found, and the identifiers that are invalid.
  open override var description: String {
    let found = "products: \(products.map(\.productIdentifier).joined(separator: ", "))"
    guard !invalidProductIdentifiers.isEmpty else { return found }
    return "\(found); invalid: \(invalidProductIdentifiers.joined(separator: ", "))"
  }

  /// The products that were found.
  open var products: [SKProduct] { values.products }
  /// Identifiers that are invalid, or that the store does not offer or cannot describe.
  open var invalidProductIdentifiers: [String] { values.invalid }
}

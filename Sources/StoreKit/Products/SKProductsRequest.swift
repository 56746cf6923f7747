import Foundation
import HostedContent

/// Looks products up; its delegate should be an `SKProductsRequestDelegate`.
// Sendable because SKRequest is, and nothing of it changes.
open class SKProductsRequest: SKRequest, @unchecked Sendable {
  private let identifiers: Set<String>

  /// Creates a request for no products, for subclasses in tests.
  public override init() {
    identifiers = []
    super.init()
  }

  /// Asks the app's queue for products; texts that are no identifiers come back as invalid.
  public init(productIdentifiers: Set<String>) {
    identifiers = productIdentifiers
    super.init()
  }

  private init(_ identifiers: Set<String>, host: StoreHost) {
    self.identifiers = identifiers
    super.init(host: host)
  }

  /// Asks another queue than the app's; not in Apple's API.
  public convenience init(productIdentifiers: Set<String>, queue: SKPaymentQueue) {
    self.init(productIdentifiers, host: queue.host)
  }

  override var work: @Sendable (StoreHost) async throws -> Answer {
    let identifiers = identifiers
    return { host in
      let engine = try host.session().engine
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

/// Who is told about products, on the delivery queue.
public protocol SKProductsRequestDelegate: SKRequestDelegate {
  /// The answer, just before `requestDidFinish`.
  func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse)
}

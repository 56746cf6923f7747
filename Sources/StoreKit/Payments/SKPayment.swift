public import Foundation
import HostedContent
import HostedConcurrency

/// A request to buy a product; the queue copies it.
///
/// To change a payment, use `SKMutablePayment`. May be read from any thread.
// Sendable because a lock protects what SKMutablePayment changes.
open class SKPayment: NSObject, NSCopying, NSMutableCopying, @unchecked Sendable {
  struct Fields: Sendable {
    var productIdentifier = ""
    var quantity = 1
    var applicationUsername: String?
    var requestData: Data?
    var simulatesAskToBuyInSandbox = false
    var paymentDiscount: SKPaymentDiscount?
  }

  private let storage = Mutex(Fields())

  final var fields: Fields { storage.withLock { $0 } }

  /// Changes values; releases old values outside the lock, because that can run any code.
  final func change(_ body: (inout sending Fields) -> Void) {
    _ = storage.withLock { fields in
      let old = fields
      body(&fields)
      return old
    }
  }

  /// Creates a payment without a product; the queue refuses it.
  public override init() {}

  /// Creates a payment for one unit of `product`.
  public convenience init(product: SKProduct) {
    self.init()
    change { $0.productIdentifier = product.productIdentifier }
  }

  /// The product to buy.
  open var productIdentifier: String { fields.productIdentifier }
  /// The quantity, 1 to 10; 1 by default.
  open var quantity: Int { fields.quantity }
  /// A one-way hash of the buyer's account, at most 256 bytes; nil for the library's own account.
  open var applicationUsername: String? { fields.applicationUsername }
  /// Reserved; anything but nil fails with `SKError.unauthorizedRequestData`.
  open var requestData: Data? { fields.requestData }
  /// Whether the built-in seller defers it, as if it needed approval.
  open var simulatesAskToBuyInSandbox: Bool { fields.simulatesAskToBuyInSandbox }
  /// A discount for a subscription; not supported, fails with `.ineligibleForOffer`.
  open var paymentDiscount: SKPaymentDiscount? { fields.paymentDiscount }

  /// Returns an immutable copy.
  open func copy(with zone: NSZone? = nil) -> Any { SKPayment(fields: values) }

  /// Returns a mutable copy.
  open func mutableCopy(with zone: NSZone? = nil) -> Any { SKMutablePayment(fields: values) }

  /// The current values, including those that a subclass overrides.
  var values: Fields {
    Fields(
      productIdentifier: productIdentifier, quantity: quantity,
      applicationUsername: applicationUsername, requestData: requestData,
      simulatesAskToBuyInSandbox: simulatesAskToBuyInSandbox, paymentDiscount: paymentDiscount)
  }
}

extension SKPayment {
  convenience init(fields: Fields) {
    self.init()
    change { $0 = fields }
  }

  convenience init(_ payment: Payment) {
    self.init(
      fields: Fields(
        productIdentifier: payment.productIdentifier.rawValue, quantity: payment.quantity,
        applicationUsername: payment.applicationUsername?.rawValue,
        simulatesAskToBuyInSandbox: payment.simulatesAskToBuy))
  }

  /// Returns the engine's payment; throws if the payment is invalid.
  func enginePayment() throws(SKError) -> Payment {
    let values = values
    guard values.requestData == nil else {
      throw .make(
        .unauthorizedRequestData, "The payment has requestData, which is reserved",
        remedy: "Leave requestData nil")
    }
    guard values.paymentDiscount == nil else {
      throw .make(
        .ineligibleForOffer, "The payment has a discount, and discounts are not supported",
        remedy: "Leave paymentDiscount nil")
    }
    do {
      return Payment(
        productIdentifier: try ProductIdentifier(validating: values.productIdentifier),
        quantity: values.quantity,
        applicationUsername: values.applicationUsername.map(AccountID.init(rawValue:)),
        simulatesAskToBuy: values.simulatesAskToBuyInSandbox)
    } catch {
      throw ContentError(error, while: "reading a payment").skError
    }
  }
}

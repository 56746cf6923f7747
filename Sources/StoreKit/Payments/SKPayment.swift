public import Foundation
import HostedContent
import Concurrency

/// A request to buy a product; copied when it is added to the queue.
///
/// Change a payment as an `SKMutablePayment`. May be read from any thread.
// Sendable because what SKMutablePayment changes is behind a lock.
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

  /// Changes values; what they replace is released outside the lock, since that can run any code.
  final func change(_ body: (inout sending Fields) -> Void) {
    _ = storage.withLock { fields in
      let old = fields
      body(&fields)
      return old
    }
  }

  /// Creates a payment for nothing; the queue refuses it.
  public override init() {}

  /// Creates a payment for one of `product`.
  public convenience init(product: SKProduct) {
    self.init()
    change { $0.productIdentifier = product.productIdentifier }
  }

  /// What is bought.
  open var productIdentifier: String { fields.productIdentifier }
  /// How many, 1 to 10; 1 unless it was set.
  open var quantity: Int { fields.quantity }
  /// A one-way hash of the buyer's account, at most 256 bytes; nil for the library's own account.
  open var applicationUsername: String? { fields.applicationUsername }
  /// Reserved; anything but nil fails with `SKError.unauthorizedRequestData`.
  open var requestData: Data? { fields.requestData }
  /// Whether the built-in seller defers it, as if somebody else had to decide.
  open var simulatesAskToBuyInSandbox: Bool { fields.simulatesAskToBuyInSandbox }
  /// A discount for a subscription; the engine sells none, and fails with `.ineligibleForOffer`.
  open var paymentDiscount: SKPaymentDiscount? { fields.paymentDiscount }

  /// A payment of the same values that cannot be changed.
  open func copy(with zone: NSZone? = nil) -> Any { SKPayment(fields: values) }

  /// A payment of the same values that can be changed.
  open func mutableCopy(with zone: NSZone? = nil) -> Any {
    let copy = SKMutablePayment()
    let values = values
    copy.change { $0 = values }
    return copy
  }

  /// What the payment says now, also where a subclass says something else.
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
        applicationUsername: payment.applicationUsername,
        simulatesAskToBuyInSandbox: payment.simulatesAskToBuy))
  }

  /// The payment as the engine takes it; throws why it cannot be sent.
  func enginePayment() throws(SKError) -> Payment {
    let values = values
    guard values.requestData == nil else {
      throw .make(
        .unauthorizedRequestData, "The payment carries request data, which is reserved",
        remedy: "Leave requestData nil")
    }
    guard values.paymentDiscount == nil else {
      throw .make(
        .ineligibleForOffer, "The payment asks for a discount, and discounts are not sold",
        remedy: "Leave paymentDiscount nil")
    }
    do {
      return Payment(
        productIdentifier: try ProductIdentifier(validating: values.productIdentifier),
        quantity: values.quantity, applicationUsername: values.applicationUsername,
        simulatesAskToBuy: values.simulatesAskToBuyInSandbox)
    } catch {
      throw ContentError(error, while: "reading a payment").skError
    }
  }
}

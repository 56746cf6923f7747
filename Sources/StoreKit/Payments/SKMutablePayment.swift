public import Foundation

/// A mutable payment; may be changed from any thread until it is added.
// Sendable because the lock of SKPayment protects all mutable state.
open class SKMutablePayment: SKPayment, @unchecked Sendable {
  /// The product to buy.
  open override var productIdentifier: String {
    get { fields.productIdentifier }
    set { change { $0.productIdentifier = newValue } }
  }

  /// The quantity, 1 to 10; the transaction fails with `SKError.paymentInvalid` for others.
  open override var quantity: Int {
    get { fields.quantity }
    set { change { $0.quantity = newValue } }
  }

  /// A one-way hash of the buyer's account, at most 256 bytes; nil for the library's own account.
  open override var applicationUsername: String? {
    get { fields.applicationUsername }
    set { change { $0.applicationUsername = newValue } }
  }

  /// Reserved; anything but nil fails with `SKError.unauthorizedRequestData`.
  open override var requestData: Data? {
    get { fields.requestData }
    set { change { $0.requestData = newValue } }
  }

  /// Whether the built-in seller defers it, as if it needed approval.
  open override var simulatesAskToBuyInSandbox: Bool {
    get { fields.simulatesAskToBuyInSandbox }
    set { change { $0.simulatesAskToBuyInSandbox = newValue } }
  }

  /// A discount for a subscription; not supported, fails with `.ineligibleForOffer`.
  open override var paymentDiscount: SKPaymentDiscount? {
    get { fields.paymentDiscount }
    set { change { $0.paymentDiscount = newValue } }
  }
}

import HostedConcurrency
import HostedContent

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
  /// Whether the built-in store service defers it, as if it needed approval.
  open var simulatesAskToBuyInSandbox: Bool { fields.simulatesAskToBuyInSandbox }
  /// A discount for a subscription; not supported, fails with `.ineligibleForOffer`.
  open var paymentDiscount: SKPaymentDiscount? { fields.paymentDiscount }

  /// The product and the quantity, such as `com.example.book` or `com.example.coin, 5 units`.
  open override var description: String {
    quantity == 1 ? productIdentifier : "\(productIdentifier), \(quantity) units"
  }

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

  /// Whether the built-in store service defers it, as if it needed approval.
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

/// A signed discount for a subscription.
///
/// Only stores its values. Subscriptions are not supported, so a payment with a discount fails with
/// `SKError.ineligibleForOffer`.
// Sendable because it is immutable.
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
  private let values:
    (identifier: String, key: String, nonce: UUID, signature: String, timestamp: NSNumber)

  /// Creates an empty discount, for subclasses in tests.
  public override init() { values = ("", "", UUID(), "", 0) }

  /// Creates a discount; `timestamp` is in milliseconds since 1970.
  public init(
    identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber
  ) {
    values = (identifier, keyIdentifier, nonce, signature, timestamp)
  }

  /// The identifier of the offer.
  open override var description: String { identifier }

  /// The identifier of the offer.
  open var identifier: String { values.identifier }
  /// The identifier of the signing key.
  open var keyIdentifier: String { values.key }
  /// A nonce, used only once.
  open var nonce: UUID { values.nonce }
  /// The signature.
  open var signature: String { values.signature }
  /// The time in milliseconds since 1970.
  open var timestamp: NSNumber { values.timestamp }
}

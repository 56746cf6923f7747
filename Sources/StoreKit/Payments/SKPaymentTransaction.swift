import HostedConcurrency
import HostedContent

/// A purchase in the queue, which has one object for each.
///
/// Values change only on the delivery queue, between callbacks. May be read from any thread.
// Sendable because its source never changes, and a lock protects the restored purchase.
open class SKPaymentTransaction: NSObject, @unchecked Sendable {
  private let source: Source
  private let storedPayment: SKPayment
  private let restored = Mutex<SKPaymentTransaction?>(nil)

  private enum Source: Sendable {
    case none
    case queue(PaymentTransaction, ObjectRegistry)
    /// The purchase that a transaction restored.
    case history(Grant, PaymentTransaction)
    case refused(SKError)
  }

  /// Creates a transaction that is not in a queue, for subclasses in tests.
  public override init() {
    source = .none
    storedPayment = SKPayment()
  }

  init(_ handle: PaymentTransaction, in objects: ObjectRegistry) {
    source = .queue(handle, objects)
    storedPayment = SKPayment(handle.payment)
  }

  private init(original grant: Grant, of handle: PaymentTransaction) {
    source = .history(grant, handle)
    storedPayment = SKPayment(grant.payment)
  }

  /// Creates a failed transaction for a payment that was refused before the engine received it.
  init(refused payment: SKPayment, _ error: SKError) {
    source = .refused(error)
    storedPayment = payment
  }

  deinit {
    guard case .queue(let handle, let objects) = source else { return }
    objects.transactions.forget(self, for: handle)
  }

  /// The engine's handle; nil if the engine does not know the transaction.
  var handle: PaymentTransaction? {
    if case .queue(let handle, _) = source { handle } else { nil }
  }

  /// The state.
  open var transactionState: SKPaymentTransactionState {
    switch source {
    case .none: .purchasing
    case .queue(let handle, _):
      SKPaymentTransactionState(rawValue: handle.transactionState.rawValue) ?? .purchasing
    case .history: .purchased
    case .refused: .failed
    }
  }

  /// The payment; the same object each time.
  open var payment: SKPayment { storedPayment }

  /// The error, always an `SKError`; nil unless failed.
  open var error: (any Error)? {
    switch source {
    case .none, .history: nil
    case .queue(let handle, _): handle.error?.skError
    case .refused(let error): error
    }
  }

  /// The restored purchase; nil unless restored.
  open var original: SKPaymentTransaction? {
    guard case .queue(let handle, _) = source, let grant = handle.original else { return nil }
    return restored.withLock { restored in
      let original = restored ?? SKPaymentTransaction(original: grant, of: handle)
      restored = original
      return original
    }
  }

  /// The downloads; empty before the purchase and for a product without content.
  open var downloads: [SKDownload] {
    guard case .queue(let handle, let objects) = source else { return [] }
    return handle.downloads.map(objects.download)
  }

  /// The date of the purchase; nil unless purchased or restored.
  open var transactionDate: Date? {
    switch source {
    case .none, .refused: nil
    case .queue(let handle, _): handle.transactionDate
    case .history(let grant, _): grant.date
    }
  }

  /// The seller's number of the purchase; nil unless purchased or restored.
  ///
  /// A restored transaction has its own number; `original` has the number of the purchase.
  open var transactionIdentifier: String? {
    switch source {
    case .none, .refused: nil
    case .queue(let handle, _): handle.transactionIdentifier
    case .history(let grant, _): grant.transactionIdentifier
    }
  }

  /// The product, the state and the number, such as `com.example.book: purchased, 1000000001`.
  open override var description: String {
    "\(payment.productIdentifier): \(transactionState)"
      + (transactionIdentifier.map { ", \($0)" } ?? "")
  }

  /// The seller's signed receipt, a JWS in UTF-8; nil if the seller does not sign receipts.
  ///
  /// Read from the library at each call, which may block for as long as a write takes; nil also on
  /// a read error.
  open var transactionReceipt: Data? {
    switch source {
    case .none, .refused: nil
    case .queue(let handle, _), .history(_, let handle):
      (try? handle.transactionReceipt()).map { Data($0.utf8) }
    }
  }
}

/// The state of a transaction.
public enum SKPaymentTransactionState: Int, Sendable {
  /// Sent to the service, without outcome.
  case purchasing = 0
  /// Purchased; deliver the content, then finish.
  case purchased = 1
  /// Refused or failed; finish it.
  case failed = 2
  /// Restored from the account's history; deliver the content, then finish.
  case restored = 3
  /// Waiting for approval; do not finish it.
  case deferred = 4
}

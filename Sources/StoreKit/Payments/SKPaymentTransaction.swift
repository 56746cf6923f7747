public import Foundation
import HostedContent
import Concurrency

/// A purchase on its way; the queue has one object for each.
///
/// What it says changes only on the delivery queue, between callbacks. May be read from any thread.
// Sendable because its source never changes, and what it makes of it is behind a lock.
open class SKPaymentTransaction: NSObject, @unchecked Sendable {
  private let source: Source
  private let made = Mutex(Made())

  private enum Source: Sendable {
    case none
    case queue(PaymentTransaction, ObjectRegistry)
    case history(Grant)
    case refused(SKError)
  }

  private struct Made {
    var payment: SKPayment?
    var original: SKPaymentTransaction?
  }

  /// Creates a transaction that no queue knows, for subclasses in tests.
  public override init() { source = .none }

  init(_ handle: PaymentTransaction, in objects: ObjectRegistry) {
    source = .queue(handle, objects)
  }

  init(original grant: Grant) { source = .history(grant) }

  /// A payment that was refused before the engine could take it.
  init(refused payment: SKPayment, _ error: SKError) {
    source = .refused(error)
    super.init()
    made.withLock { $0.payment = payment }
  }

  deinit {
    if case .queue(let handle, let objects) = source { objects.forget(self, handle) }
  }

  /// The engine's handle; nil for one that the engine does not know.
  var handle: PaymentTransaction? {
    if case .queue(let handle, _) = source { handle } else { nil }
  }

  /// Where it stands.
  open var transactionState: SKPaymentTransactionState {
    switch source {
    case .none: .purchasing
    case .queue(let handle, _):
      SKPaymentTransactionState(rawValue: handle.transactionState.rawValue) ?? .purchasing
    case .history: .purchased
    case .refused: .failed
    }
  }

  /// What was paid for; the same object each time.
  open var payment: SKPayment {
    made.withLock { made in
      if let payment = made.payment { return payment }
      let payment =
        switch source {
        case .none, .refused: SKPayment()
        case .queue(let handle, _): SKPayment(handle.payment)
        case .history(let grant): SKPayment(grant.payment)
        }
      made.payment = payment
      return payment
    }
  }

  /// Why it failed, always an `SKError`; nil unless it failed.
  open var error: (any Error)? {
    switch source {
    case .none, .history: nil
    case .queue(let handle, _): handle.error?.skError
    case .refused(let error): error
    }
  }

  /// The purchase that is restored; nil unless it is restored.
  open var original: SKPaymentTransaction? {
    guard case .queue(let handle, _) = source, let grant = handle.original else { return nil }
    return made.withLock { made in
      let original = made.original ?? SKPaymentTransaction(original: grant)
      made.original = original
      return original
    }
  }

  /// Its downloads; empty for a product without content, and before it is purchased.
  open var downloads: [SKDownload] {
    guard case .queue(let handle, let objects) = source else { return [] }
    return handle.downloads.map(objects.download)
  }

  /// When it was bought; nil unless it is purchased or restored.
  open var transactionDate: Date? {
    switch source {
    case .none, .refused: nil
    case .queue(let handle, _): handle.transactionDate
    case .history(let grant): grant.date
    }
  }

  /// The seller's number of the purchase; nil unless it is purchased or restored.
  ///
  /// A restored one has a number of its own; that of the purchase is the original's.
  open var transactionIdentifier: String? {
    switch source {
    case .none, .refused: nil
    case .queue(let handle, _): handle.transactionIdentifier
    case .history(let grant): grant.transactionIdentifier
    }
  }

  /// The seller's signed receipt, a JWS in UTF-8; nil when the seller holds no key.
  ///
  /// Read from the library each time, which may block for as long as a write takes.
  open var transactionReceipt: Data? {
    switch source {
    case .none, .refused: nil
    case .queue(let handle, _): handle.transactionReceipt.map { Data($0.utf8) }
    case .history(let grant): grant.receipt.map { Data($0.utf8) }
    }
  }
}

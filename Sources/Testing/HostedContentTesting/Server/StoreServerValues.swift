public import HostedModel
public import FoundationEssentials
import HostedStoreAPI
import HostedLedger

extension StoreServerSession {
  /// The decision about a purchase.
  public enum PurchaseDecision: Hashable, Sendable {
    /// It is sold.
    case approve
    /// Sold if the request has an unused voucher for the product; otherwise it fails.
    case requireVoucher
    /// It fails with `notEntitled`.
    case decline(reason: String)
    /// It waits until `approve` or `decline` (Ask to Buy).
    case later
    /// It fails with `notEntitled`, because the buyer must first do something at the seller.
    ///
    /// After `approve`, it is delivered as another transaction.
    case interrupt
  }

  /// What a token or a key may do.
  public enum Scope: String, Hashable, Sendable, CaseIterable {
    case read, purchase, content, report, publish, admin
  }

  /// A purchase in the server's ledger.
  public struct Purchase: Hashable, Sendable {
    /// The transaction, as in the buyer's queue.
    public let transaction: TransactionID
    /// The product.
    public let productIdentifier: ProductIdentifier
    /// The account; nil if the payment had none.
    public let account: AccountID?
    /// The quantity.
    public let quantity: Int
    /// The state.
    public let state: State
    /// The date of the purchase, or of its approval.
    public let date: Date
    /// The signed receipt (JWS); nil unless it was purchased.
    public let receipt: String?
    /// Whether the buyer's queue has finished it.
    public let isFinished: Bool

    /// The states of a purchase.
    public enum State: String, Hashable, Sendable, CaseIterable {
      case deferred, purchased, failed, refunded, revoked
    }
  }

  /// An event of the server.
  public struct Event: Hashable, Sendable {
    /// The kind.
    public let kind: Kind
    /// The date.
    public let date: Date
    /// The purchase as it is now; nil for `published`.
    public let purchase: Purchase?

    /// The kinds of events.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      case purchased, decided, refunded, revoked, reversed, published
    }
  }
}

extension StoreServerSession.Purchase {
  init(_ record: PurchaseRecord) {
    transaction = TransactionID(rawValue: record.transaction)
    productIdentifier = record.product
    account = record.namedAccount
    quantity = record.quantity
    state =
      switch record.state {
      case .deferred: .deferred
      case .purchased: .purchased
      case .failed: .failed
      case .refunded: .refunded
      case .revoked: .revoked
      }
    date = record.date
    receipt = record.receipt
    isFinished = record.finished != nil
  }
}

extension StoreServerSession.Event {
  init?(_ event: LedgerEvent) {
    guard let kind = Kind(rawValue: event.kind.nameInMessages) else { return nil }
    self.kind = kind
    date = event.date
    purchase = event.purchase.map { StoreServerSession.Purchase($0) }
  }
}

extension Decision {
  init(_ decision: StoreServerSession.PurchaseDecision) {
    self =
      switch decision {
      case .approve: .approve
      case .requireVoucher: .approveWithVoucher
      case .decline(let reason): .decline(reason: reason)
      case .later: .later
      case .interrupt: .interrupt
      }
  }
}

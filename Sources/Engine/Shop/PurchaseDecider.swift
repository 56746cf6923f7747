public import HostedModel

/// Decides whether a purchase is sold.
///
/// A shop asks it when the sale is about to happen: at the request, or when the purchase was
/// approved. It is not asked about a product that the account owns already.
public protocol PurchaseDecider: Sendable {
  /// Decides about a purchase; may be called for several purchases at the same time.
  ///
  /// A thrown error decides nothing: the purchase is requested again, with the same transaction. So
  /// does a crash before the purchase is recorded. Therefore only authorize a payment here, by the
  /// transaction. Capture it when the transaction is reported as purchased, and release it when the
  /// transaction is reported as failed.
  func decide(_ request: PurchaseRequest) async throws -> PurchaseDecision
}

/// The decision about a purchase.
public enum PurchaseDecision: Hashable, Sendable {
  /// It is sold.
  case approve(PurchaseTerms = PurchaseTerms())
  /// It is sold if the voucher of the request is unused and for this product; otherwise it fails.
  case redeemVoucher
  /// It fails with `purchaseDeclined`; the reason is for the buyer.
  case decline(reason: String)
  /// It waits until it is approved or declined. The decider is not asked again.
  case later
  /// It fails with `purchaseInterrupted`, because the buyer must first do something at the seller.
  ///
  /// If it is approved later, it is delivered as another transaction.
  case interrupt
}

/// What is recorded with an approved purchase.
public struct PurchaseTerms: Hashable, Sendable {
  /// The price that was paid; nil for that of the catalog.
  public var price: Price?
  /// The number of the payment at its provider; up to 200 bytes.
  public var reference: String?

  /// Creates terms.
  public init(price: Price? = nil, reference: String? = nil) {
    self.price = price
    self.reference = reference
  }
}

/// The deciders of a shop, in order.
///
/// The first that is responsible for a request decides alone.
package struct DeciderChain: Sendable {
  package enum Link: Sendable {
    /// Redeems vouchers; responsible for requests with a code.
    case voucher
    /// Approves everything.
    case always
    /// Decides at once, such as by the script of a test.
    case script(@Sendable (PurchaseRequest) -> PurchaseDecision)
    case decider(any PurchaseDecider, name: String)
  }

  package let links: [Link]

  package init(_ links: [Link]) { self.links = links }

  /// The answer to a request that needs none of the deciders, or the decider to ask.
  enum Answer {
    case decided(PurchaseDecision, by: String)
    case ask(any PurchaseDecider, name: String)
  }

  /// Returns the answer to a request; `hasVoucher` is whether it has, or had, a code.
  func answer(to request: PurchaseRequest, hasVoucher: Bool) -> Answer {
    for link in links {
      switch link {
      case .voucher: if hasVoucher { return .decided(.redeemVoucher, by: "voucher") }
      case .always: return .decided(.approve(), by: "always")
      case .script(let decide): return .decided(decide(request), by: "script")
      case .decider(let decider, let name): return .ask(decider, name: name)
      }
    }
    return .decided(.decline(reason: "The purchase needs a voucher"), by: "voucher")
  }

  /// Whether vouchers are redeemed, and so reserved while a purchase waits for approval.
  var redeemsVouchers: Bool { if case .voucher? = links.first { true } else { false } }

  /// Whether a decider must be asked about requests without a code.
  var asks: Bool {
    links.contains { if case .decider = $0 { true } else { false } }
  }
}

extension SaleDecision {
  /// What a decision means for a request; `hasVoucher` is whether it has, or had, a code.
  init(_ decision: PurchaseDecision, quantity: Int, hasVoucher: Bool) {
    switch decision {
    case .approve(let terms):
      self.init(.purchased)
      price = terms.price.flatMap { SoldPrice($0) }
      reference = terms.reference?.printable(limit: 200)
    case .redeemVoucher where !hasVoucher:
      self.init(.failed(.declined("The purchase needs a voucher")))
    case .redeemVoucher where quantity > 1:
      // Otherwise the buyer chooses how much one code pays for.
      self.init(.failed(.declined("A voucher pays for a quantity of 1")))
    case .redeemVoucher:
      self.init(.purchased)
      usesVoucher = true
    case .decline(let reason): self.init(.failed(.declined(reason.printable(limit: 240))))
    case .later: self.init(.deferred(.payment))
    case .interrupt: self.init(.failed(.interrupted))
    }
  }
}

extension SoldPrice {
  /// Nil for an amount that cannot be expressed.
  package init?(_ price: Price) {
    guard let amount = Double("\(price.amount)"), abs(amount) < 1e12 else { return nil }
    self.init(milliunits: Int64((amount * 1_000).rounded()), currency: price.currency)
  }
}

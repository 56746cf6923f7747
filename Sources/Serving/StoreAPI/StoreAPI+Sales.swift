import HostedConcurrency
import HostedModel
import HostedDigests
import FoundationEssentials
import HostedLedger

/// The way of new purchases: look-up in the ledger and the catalog, decision, commit.
extension StoreAPI {
  typealias SaleResult = Result<LedgerOutcome, Problem>

  /// Sells `orders` in one commit; calls `completion` with one result for each, in the same order.
  func sell(
    _ orders: [Result<PurchaseRequest, Problem>],
    completion: @escaping @Sendable ([SaleResult]) -> Void
  ) {
    let steps = SaleSteps(count: orders.count) { [self] in record($0, completion) }
    var new: [(index: Int, order: PurchaseRequest)] = []
    for (index, order) in orders.enumerated() {
      do {
        let order = try order.get()
        if let known = try begin(order) {
          steps.set(index, .done(.success(known)))
        } else {
          new.append((index, order))
        }
      } catch {
        steps.set(index, .done(.failure(problem(error))))
      }
    }
    guard !new.isEmpty else { return }
    let products = Set(new.map { $0.order.product })
    if let known = catalog.known(products) { return decide(new, .success(known), steps) }
    let isAdded = lookups.run { [self, new] in
      let offered = Result { try catalog.products(products) }.mapError { problem($0) }
      decide(new, offered, steps)
    }
    if !isAdded { decide(new, .failure(.tooManyLookups), steps) }
  }

  private func decide(
    _ orders: [(index: Int, order: PurchaseRequest)], _ offered: Result<SaleProducts, Problem>,
    _ steps: SaleSteps
  ) {
    for (index, order) in orders { decide(order, offered) { steps.set(index, $0) } }
  }

  /// Begins a transaction; returns its outcome instead if it was recorded before.
  ///
  /// Throws if it is being processed. It is marked before the look-up in the ledger, so that two
  /// equal requests are not both decided.
  private func begin(_ order: PurchaseRequest) throws -> LedgerOutcome? {
    guard pending.withLock({ $0.insert(order.transaction).inserted }) else {
      throw Problem.undecided
    }
    do {
      guard let (record, digest) = try ledger.request(order.transaction) else { return nil }
      guard try order.digest.hex == digest else { throw Problem.otherRequest }
      end(order.transaction)
      return LedgerOutcome(record, isRepeated: true)
    } catch {
      end(order.transaction)
      throw error
    }
  }

  private func end(_ transaction: String) { _ = pending.withLock { $0.remove(transaction) } }

  /// Asks for the decision about an order, and calls `next` with its result.
  private func decide(
    _ order: PurchaseRequest, _ offered: Result<SaleProducts, Problem>,
    _ next: @escaping @Sendable (SaleStep) -> Void
  ) {
    @Sendable func refuse(_ error: any Error) {
      end(order.transaction)
      next(.done(.failure(problem(error))))
    }
    do {
      let product = try offered.get().product(order.product)
      let answer: @Sendable (Result<Decision, ContentError>) -> Void = { decision in
        do {
          next(.draft(try PurchaseDraft(order, product, decision.get())))
        } catch {
          refuse(error)
        }
      }
      // An administrator decides about this one.
      if order.asksToBuy { return answer(.success(.later)) }
      configuration.decider.decide(order, answer: answer)
    } catch {
      refuse(error)
    }
  }

  /// Records the drafts of a request, and completes it.
  private func record(_ steps: [SaleStep], _ completion: @escaping @Sendable ([SaleResult]) -> Void)
  {
    let drafts = steps.compactMap(\.draft)
    guard !drafts.isEmpty else { return completion(steps.map { $0.result(nil) }) }
    commits.add(drafts.map { .purchase($0) }) { [self] results in
      // Ended first, so that the client may repeat the request as soon as it has the response.
      for draft in drafts { end(draft.transaction) }
      var recorded = results.makeIterator()
      completion(steps.map { $0.result($0.draft == nil ? nil : recorded.next()) })
    }
  }
}

/// How far a purchase of a request is.
private enum SaleStep: Sendable {
  case done(StoreAPI.SaleResult)
  case draft(PurchaseDraft)

  var draft: PurchaseDraft? { if case .draft(let draft) = self { draft } else { nil } }

  /// The result; `recorded` is the result of a draft's commit.
  func result(_ recorded: StoreAPI.SaleResult?) -> StoreAPI.SaleResult {
    if case .done(let result) = self { result } else { recorded ?? .failure(.undecided) }
  }
}

/// Collects the steps of a request's purchases, which may be decided on different threads.
private final class SaleSteps: Sendable {
  private let steps: Mutex<[SaleStep?]>
  /// Called once, with all steps.
  private let completion: @Sendable ([SaleStep]) -> Void

  init(count: Int, completion: @escaping @Sendable ([SaleStep]) -> Void) {
    steps = Mutex(Array(repeating: nil, count: count))
    self.completion = completion
  }

  /// Sets a step; the first one counts.
  func set(_ index: Int, _ step: SaleStep) {
    let complete: [SaleStep]? = steps.withLock { steps in
      guard steps[index] == nil else { return nil }
      steps[index] = step
      let known = steps.compactMap { $0 }
      return known.count == steps.count ? known : nil
    }
    if let complete { completion(complete) }
  }
}

extension SaleProducts {
  /// Returns the product; throws a problem if it is not offered, or the error of its look-up.
  fileprivate func product(_ identifier: ProductIdentifier) throws -> Product {
    if let product = products.first(where: { $0.productIdentifier == identifier }) {
      return product
    }
    if let failure = failures.first(where: { $0.subject == identifier.rawValue }) {
      throw failure
    }
    throw Problem(
      404,
      ContentError(
        .productUnknown, "The store does not offer the product \(identifier)",
        remedy: "Check the product identifier", subject: identifier.rawValue))
  }
}

extension PurchaseDraft {
  fileprivate init(_ order: PurchaseRequest, _ product: Product, _ decision: Decision) throws {
    var voucher: Digest?
    let state: PurchaseState
    switch decision {
    case .approve: state = .purchased
    case .approveWithVoucher:
      voucher = try order.voucher.map { try Digest(of: Array($0.utf8)) }
      if voucher == nil {
        state = .failed(.declined("The purchase needs a voucher"))
      } else if order.quantity > 1 {
        // Otherwise the buyer chooses how much one code pays for.
        state = .failed(.declined("A voucher pays for a quantity of 1"))
      } else {
        state = .purchased
      }
    case .decline(let reason): state = .failed(.declined(reason.printable(limit: 240)))
    case .later: state = .deferred
    case .interrupt: state = .failed(.interrupted)
    }
    self.init(
      transaction: order.transaction, account: order.account, product: order.product,
      quantity: order.quantity, requestDigest: try order.digest, state: state,
      contents: product.soldContents, isRestorable: product.isRestorable,
      price: product.price.flatMap { SoldPrice($0) }, voucher: voucher)
  }
}

extension SoldPrice {
  /// Nil for an amount that cannot be expressed.
  fileprivate init?(_ price: Price) {
    guard let amount = Double("\(price.amount)"), abs(amount) < 1e12 else { return nil }
    self.init(milliunits: Int64((amount * 1_000).rounded()), currency: price.currency)
  }
}

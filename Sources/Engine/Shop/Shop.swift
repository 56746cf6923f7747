import HostedConcurrency
package import HostedModel

/// Sells products: checks a request, asks the deciders, commits, and signs the receipt.
///
/// Each door has one: a queue without a service, the store server, and tests. Thread-safe; `sell`
/// blocks on the ledger.
package final class Shop: Sendable {
  package let ledger: Ledger
  private let settings: Settings
  /// What is being decided or committed.
  private let claims = Mutex<Set<Claim>>([])

  /// What a door provides.
  package struct Settings: Sendable {
    package var catalog: any SaleCatalog
    package var deciders: DeciderChain
    /// Returns the receipt of a purchase; nil for no receipts.
    package var sign: (@Sendable (PurchaseRecord) throws -> String)?
    /// Returns why no sale can be proven now; nil if the shop is ready.
    package var obstacle: @Sendable () -> ContentError? = { nil }
    /// Makes changes in one commit, and calls the completion with one result for each.
    package var commit:
      @Sendable ([LedgerChange], @escaping @Sendable ([SaleResult]) -> Void) -> Void
    /// Runs a body that waits for the catalog; returns false if too many wait.
    package var lookUp: @Sendable (@escaping @Sendable () -> Void) -> Bool = { body in
      body()
      return true
    }
    /// Where deciders are asked; nil for the usual threads.
    package var tasks: (any TaskExecutor)?

    package init(
      catalog: any SaleCatalog, deciders: DeciderChain,
      commit:
        @escaping @Sendable ([LedgerChange], @escaping @Sendable ([SaleResult]) -> Void) -> Void
    ) {
      self.catalog = catalog
      self.deciders = deciders
      self.commit = commit
    }
  }

  package typealias SaleResult = Result<LedgerOutcome, SaleRefusal>

  private enum Claim: Hashable {
    case transaction(TransactionID)
    case product(AccountID?, ProductIdentifier)
  }

  package init(_ ledger: Ledger, _ settings: Settings) {
    self.ledger = ledger
    self.settings = settings
  }

  /// Returns a purchase with a receipt of the current key, if it is purchased and there is a key.
  package func signed(_ record: PurchaseRecord) throws -> PurchaseRecord {
    try record.signed(by: settings.sign)
  }

  /// Why no sale can be proven now; nil if the shop is ready.
  package var obstacle: ContentError? { settings.obstacle() }

  // MARK: Sales

  /// Sells in one commit; calls `completion` with one result for each request, in the same order.
  package func sell(
    _ requests: [PurchaseRequest], completion: @escaping @Sendable ([SaleResult]) -> Void
  ) {
    let steps = SaleSteps(count: requests.count) { [self] in record($0, completion) }
    let obstacle = obstacle
    var new: [(index: Int, request: PurchaseRequest)] = []
    for (index, request) in requests.enumerated() {
      switch begin(request, obstacle) {
      case .replay(let record): steps.set(index, .done(.success(.repeated(record))))
      case .refuse(let refusal): steps.set(index, .done(.failure(refusal)))
      case .lookUp, .repeats, .wait, .decide: new.append((index, request))
      }
    }
    guard !new.isEmpty else { return }
    let identifiers = Set(new.map { $0.request.productIdentifier })
    withProducts(identifiers) { [self, new] products in
      for (index, request) in new {
        decide(request, products.flatMap { $0.product(request.productIdentifier) }) {
          steps.set(index, $0)
        }
      }
    }
  }

  /// Begins a transaction, unless it is known or being decided.
  ///
  /// It is claimed before the look-up in the ledger, so that two equal requests are not both
  /// decided.
  private func begin(_ request: PurchaseRequest, _ obstacle: ContentError?) -> SalePolicy.Step {
    var facts = SalePolicy.Facts()
    facts.obstacle = obstacle
    guard obstacle == nil else { return SalePolicy.step(request, facts) }
    let claim = Claim.transaction(request.transaction)
    let isFree = claims.withLock { $0.insert(claim).inserted }
    do {
      let known = try ledger.purchase(
        request.transaction.rawValue, requestedAs: request.digest)
      facts.recorded = known.map { .success($0) }
    } catch let refusal as LedgerRefusal {
      facts.recorded = .failure(refusal)
    } catch {
      if isFree { end([claim]) }
      return .refuse(.ledgerFailed(ContentError(error, while: "reading the ledger")))
    }
    facts.isBusy = !isFree
    let step = SalePolicy.step(request, facts)
    if isFree, facts.recorded != nil { end([claim]) }
    return step
  }

  private func end(_ ended: [Claim]) { claims.withLock { $0.subtract(ended) } }

  /// Calls `body` with products, on this thread if they need no look-up.
  private func withProducts(
    _ identifiers: Set<ProductIdentifier>,
    _ body: @escaping @Sendable (Result<SaleProducts, SaleRefusal>) -> Void
  ) {
    let catalog = settings.catalog
    if let known = catalog.known(identifiers) { return body(.success(known)) }
    let isAdded = settings.lookUp {
      body(
        Result { try catalog.products(identifiers) }
          .mapError { .catalogFailed(ContentError($0, while: "reading the catalog")) })
    }
    if !isAdded { body(.failure(.tooManyLookUps)) }
  }

  /// Decides about a request that has begun, and calls `next` once.
  private func decide(
    _ request: PurchaseRequest, _ product: Result<Product, SaleRefusal>,
    _ next: @escaping @Sendable (SaleStep) -> Void
  ) {
    var held = [Claim.transaction(request.transaction)]
    var facts = SalePolicy.Facts()
    facts.product = product
    if let product = try? product.get(), product.isSoldOnce {
      let claim = Claim.product(request.account, request.productIdentifier)
      facts.isBusy = claims.withLock { !$0.insert(claim).inserted }
      if !facts.isBusy { held.append(claim) }
      // What is decided at once is committed at once, and the commit checks it.
      if !facts.isBusy, request.asksToBuy || settings.deciders.asks {
        do {
          facts.owned = try ledger.original(of: product.productIdentifier, account: request.account)
        } catch {
          let error = ContentError(error, while: "reading the ledger")
          facts.product = .failure(.ledgerFailed(error))
        }
      }
    }
    let claimed = held
    @Sendable func refuse(_ refusal: SaleRefusal) {
      end(claimed)
      next(.done(.failure(refusal)))
    }
    @Sendable func propose(_ product: Product, _ decision: SaleDecision, by actor: String?) {
      do {
        next(.draft(try PurchaseDraft(request, product, decision, actor), claimed))
      } catch {
        refuse(.ledgerFailed(ContentError(error, while: "digesting a request")))
      }
    }
    switch SalePolicy.step(request, facts) {
    // `begin` has answered what was recorded, and the product is known.
    case .replay, .lookUp: refuse(.busy)
    case .refuse(let refusal): refuse(refusal)
    case .repeats(let product): propose(product, SaleDecision(.purchased), by: nil)
    case .wait(let product):
      propose(
        product,
        SaleDecision(asking: request, reserving: settings.deciders.redeemsVouchers), by: nil)
    case .decide(let product):
      var asked = request
      asked.price = product.price
      ask(about: asked, hasVoucher: request.voucher != nil) { result in
        switch result {
        case .success(let (decision, actor)): propose(product, decision, by: actor)
        case .failure(let refusal): refuse(refusal)
        }
      }
    }
  }

  /// Calls `body` with the decision and who has made it; at once, unless a decider is asked.
  private func ask(
    about request: PurchaseRequest, hasVoucher: Bool,
    _ body: @escaping @Sendable (Result<(SaleDecision, String), SaleRefusal>) -> Void
  ) {
    @Sendable func end(_ decision: PurchaseDecision, by name: String) {
      let quantity = request.quantity
      body(.success((SaleDecision(decision, quantity: quantity, hasVoucher: hasVoucher), name)))
    }
    switch settings.deciders.answer(to: request, hasVoucher: hasVoucher) {
    case .decided(let decision, let name): end(decision, by: name)
    case .ask(let decider, let name):
      Task(executorPreference: settings.tasks) {
        do {
          end(try await decider.decide(request), by: name)
        } catch {
          body(.failure(.deciderFailed(.undecided(request, error))))
        }
      }
    }
  }

  /// Records the drafts of a call, and completes it.
  private func record(
    _ steps: [SaleStep], _ completion: @escaping @Sendable ([SaleResult]) -> Void
  ) {
    let drafts = steps.compactMap(\.draft)
    guard !drafts.isEmpty else { return completion(steps.map { $0.result(nil) }) }
    settings.commit(drafts.map { .purchase($0) }) { [self] results in
      // Ended first, so that a caller may repeat the request as soon as it has the answer.
      end(steps.flatMap(\.claims))
      var recorded = results.makeIterator()
      completion(steps.map { $0.result($0.draft == nil ? nil : recorded.next()) })
    }
  }

  /// How far a purchase of a call is.
  private enum SaleStep: Sendable {
    case done(SaleResult)
    case draft(PurchaseDraft, [Claim])

    var draft: PurchaseDraft? { if case .draft(let draft, _) = self { draft } else { nil } }

    var claims: [Claim] { if case .draft(_, let claims) = self { claims } else { [] } }

    /// The result; `recorded` is the result of a draft's commit.
    func result(_ recorded: SaleResult?) -> SaleResult {
      if case .done(let result) = self { result } else { recorded ?? .failure(.busy) }
    }
  }

  /// Collects the steps of a call's purchases, which may be decided on different threads.
  private final class SaleSteps: Sendable {
    private let steps: Mutex<[SaleStep?]>
    /// Called once, with all steps.
    private let completion: @Sendable ([SaleStep]) -> Void

    init(count: Int, completion: @escaping @Sendable ([SaleStep]) -> Void) {
      steps = Mutex(Array(repeating: nil, count: count))
      self.completion = completion
      if count == 0 { completion([]) }
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

  // MARK: Changes

  /// Changes a purchase; calls `completion` once.
  ///
  /// The approval of a purchase that waits for another person asks the deciders first. `actor` is
  /// who requests the change, and `key` identifies the request.
  package func change(
    _ transaction: TransactionID, _ change: PurchaseChange, actor: String? = nil,
    key: String? = nil, completion: @escaping @Sendable (SaleResult) -> Void
  ) {
    let name = transaction.rawValue
    commit(.decide(transaction: name, change, actor: actor, key: key)) { [self] result in
      guard case .failure(.refused(.needsDecision(let record, let hasVoucher))) = result else {
        return completion(result)
      }
      if let obstacle { return completion(.failure(.notReady(obstacle))) }
      approve(record, hasVoucher: hasVoucher) { [self] result in
        switch result {
        case .failure(let refusal): completion(.failure(refusal))
        case .success(let (decision, claimed)):
          commit(.decide(transaction: name, .decide(decision), actor: actor, key: key)) {
            [self] result in
            end(claimed)
            completion(result)
          }
        }
      }
    }
  }

  private func commit(
    _ change: LedgerChange, _ completion: @escaping @Sendable (SaleResult) -> Void
  ) {
    settings.commit([change]) { completion($0.first ?? .failure(.busy)) }
  }

  /// Asks the deciders about an approved purchase, whose claims are held if there is a decision.
  private func approve(
    _ record: PurchaseRecord, hasVoucher: Bool,
    _ completion: @escaping @Sendable (Result<(SaleDecision, [Claim]), SaleRefusal>) -> Void
  ) {
    let claimed =
      [Claim.transaction(TransactionID(rawValue: record.transaction))]
      + (record.isSoldOnce ? [.product(record.account, record.product)] : [])
    let isFree = claims.withLock { claims in
      guard claims.isDisjoint(with: claimed) else { return false }
      claims.formUnion(claimed)
      return true
    }
    guard isFree else { return completion(.failure(.busy)) }
    withProducts([record.product]) { [self] products in
      var request = PurchaseRequest(
        transaction: TransactionID(rawValue: record.transaction), account: record.account,
        productIdentifier: record.product, quantity: record.quantity, asksToBuy: true)
      request.isApproved = true
      switch products.flatMap({ $0.product(record.product) }) {
      case .success(let product): request.price = product.price
      // It was offered when it was requested.
      case .failure(.notOffered): break
      case .failure(let refusal):
        end(claimed)
        return completion(.failure(refusal))
      }
      ask(about: request, hasVoucher: hasVoucher) { [self] result in
        if case .failure = result { end(claimed) }
        completion(result.map { ($0.0, claimed) })
      }
    }
  }
}

extension LedgerOutcome {
  fileprivate static func repeated(_ record: PurchaseRecord) -> LedgerOutcome {
    LedgerOutcome(record, isRepeated: true)
  }
}

extension SaleDecision {
  /// A request that waits for approval; its voucher is reserved if vouchers are redeemed.
  fileprivate init(asking request: PurchaseRequest, reserving: Bool) {
    if reserving, request.voucher != nil {
      self.init(.redeemVoucher, quantity: request.quantity, hasVoucher: true)
      if state == .purchased { state = .deferred(.approval) }
    } else {
      self.init(.deferred(.approval))
    }
  }
}

extension PurchaseDraft {
  fileprivate init(
    _ request: PurchaseRequest, _ product: Product, _ decision: SaleDecision, _ actor: String?
  ) throws {
    self.init(
      transaction: request.transaction.rawValue, account: request.account,
      product: request.productIdentifier, quantity: request.quantity,
      requestDigest: try request.digest, state: decision.state, contents: product.soldContents,
      isRestorable: product.isRestorable, isSoldOnce: product.isSoldOnce,
      price: decision.price ?? product.price.flatMap { SoldPrice($0) },
      reference: decision.reference, voucher: try request.voucherDigest,
      usesVoucher: decision.usesVoucher, actor: actor)
  }
}

extension ContentError {
  /// The error of a purchase about which a decider threw `error`.
  fileprivate static func undecided(_ request: PurchaseRequest, _ error: any Error) -> ContentError
  {
    if let error = error as? ContentError { return error.about(request.transaction.rawValue) }
    return ContentError(
      .serviceFailed, "The purchase of \(request.productIdentifier) was not decided",
      remedy: "Check the decider. The purchase is repeated with the same transaction",
      subject: request.transaction.rawValue, cause: "\(error)")
  }
}

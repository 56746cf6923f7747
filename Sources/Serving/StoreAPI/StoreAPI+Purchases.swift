import HostedModel
import HostedShop
import HostedHTTPValues

/// Requests about single purchases.
extension StoreAPI {
  /// The maximum length of a purchase's body, in bytes.
  private static let maximumPurchase = 16 << 10
  private static let maximumBatch = 64

  func purchase(_ call: Call, _ respond: @escaping Respond) throws {
    let fields = try call.request.object(PurchaseRequest.members, limit: Self.maximumPurchase)
    let transaction = call.request.headers["idempotency-key"]
    let order = try PurchaseRequest(fields, transaction: transaction, for: call.access)
    shop.sell([order]) { [self] results in
      respond(
        response(to: results.first) { outcome in
          try outcome.isRepeated
            ? .json(200, json(outcome), headers: ["Idempotent-Replayed": "true"])
            : .json(201, json(outcome))
        })
    }
  }

  func purchaseBatch(_ call: Call, _ respond: @escaping Respond) throws {
    let entries = try call.request.object(["purchases"]).list("purchases", 1...Self.maximumBatch)
    let orders: [Result<PurchaseRequest, Problem>] = entries.map { entry in
      Result {
        let fields = try RequestFields(
          entry, of: "a purchase", PurchaseRequest.members.union(["transactionIdentifier"]))
        return try PurchaseRequest(
          fields, transaction: fields.text("transactionIdentifier", limit: 1_000),
          for: call.access)
      }.mapError(problem)
    }
    shop.sell(orders.compactMap { try? $0.get() }) { [self] sold in
      var sold = sold.makeIterator()
      let results = orders.map { order -> Result<(Int64, JSONValue), Problem> in
        Result {
          _ = try order.get()
          let outcome = try (sold.next() ?? .failure(.busy)).get()
          return (outcome.isRepeated ? 200 : 201, try json(outcome))
        }.mapError(problem)
      }
      let entries: [JSONValue] = results.map { result -> JSONValue in
        switch result {
        case .success(let (status, purchase)):
          .object(["status": .integer(status), "purchase": purchase])
        case .failure(let problem):
          .object(["status": .integer(Int64(problem.status)), "problem": problem.json])
        }
      }
      let delay = results.compactMap { result -> Int? in
        if case .failure(let problem) = result { problem.retryAfter } else { nil }
      }.max()
      let headers: HTTPHeaders = delay.map { ["Retry-After": "\($0)"] } ?? [:]
      respond(.json(200, .object(["results": .array(entries)]), headers: headers))
    }
  }

  /// Returns a purchase; another account's is not found.
  func purchase(_ transaction: String, for access: AccountAccess) throws -> PurchaseRecord {
    guard transaction.isVisibleIdentifier, let record = try ledger.purchase(transaction),
      access.mayUse(record.account)
    else { throw Problem.unknownTransaction }
    return record
  }

  // MARK: Changes

  func finish(
    _ transaction: String, for access: AccountAccess,
    _ respond: @escaping Respond
  ) throws {
    _ = try purchase(transaction, for: access)
    commit(.finish(transaction: transaction), respond) { _ in HTTPResponse(204) }
  }

  /// Changes a purchase; the caller's key is the actor.
  func change(
    _ call: Call, _ change: PurchaseChange, _ respond: @escaping Respond
  ) throws {
    let key = call.request.headers["idempotency-key"]
    if let key, !key.isVisibleIdentifier {
      throw Problem.malformed(
        "the Idempotency-Key is not 1 to 128 visible ASCII characters, or is “.” or “..”")
    }
    shop.change(
      TransactionID(rawValue: call.route.name), change, actor: call.access.kid, key: key
    ) { [self] result in
      respond(response(to: result) { .json(200, try json($0)) })
    }
  }

  /// The account gets a random name, which is not said.
  func erase(_ account: AccountID, _ respond: @escaping Respond) {
    commit(.erase(account: account), respond) {
      .json(200, .object(["purchases": .integer(Int64($0.sales))]))
    }
  }

  /// The reason in the optional body of a change.
  func reason(_ request: HTTPRequest) throws -> String {
    guard !request.body.isEmpty else { return "" }
    return try request.object(["reason"], limit: Self.maximumPurchase)
      .text("reason", limit: 1_000) ?? ""
  }

  private func commit(
    _ change: LedgerChange, _ respond: @escaping Respond,
    _ response: @escaping @Sendable (LedgerOutcome) throws -> HTTPResponse<APIBody>
  ) {
    commits.add([change]) { [self] in respond(self.response(to: $0.first, response)) }
  }

  /// The response to a request with one change.
  private func response(
    to result: Shop.SaleResult?, _ response: (LedgerOutcome) throws -> HTTPResponse<APIBody>
  ) -> HTTPResponse<APIBody> {
    do {
      return try response((result ?? .failure(.busy)).get())
    } catch {
      return problem(error).response
    }
  }

  /// The purchase as a JSON object, with a receipt.
  private func json(_ outcome: LedgerOutcome) throws -> JSONValue {
    try outcome.purchase.map { try shop.signed($0).json } ?? .null
  }
}

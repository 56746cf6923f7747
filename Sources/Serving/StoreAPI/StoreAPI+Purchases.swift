import HostedModel
import HostedLedger
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
    sell([.success(order)]) { results in
      let response = Self.response(to: results) { outcome in
        outcome.isRepeated
          ? .json(200, outcome.json, headers: ["Idempotent-Replayed": "true"])
          : .json(201, outcome.json)
      }
      respond(response)
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
    sell(orders) { results in
      let entries: [JSONValue] = results.map { result -> JSONValue in
        switch result {
        case .success(let outcome):
          .object(["status": .integer(outcome.isRepeated ? 200 : 201), "purchase": outcome.json])
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

  func change(
    _ transaction: String, _ change: PurchaseChange,
    _ respond: @escaping Respond
  ) {
    commit(.decide(transaction: transaction, change), respond) { .json(200, $0.json) }
  }

  /// The account gets a random name in all its purchases.
  func erase(_ account: AccountID, _ respond: @escaping Respond) {
    let replacement = AccountID(rawValue: randomIdentifier())
    commit(.erase(account: account, replacement: replacement), respond) { _ in HTTPResponse(204) }
  }

  /// The reason in the optional body of a change.
  func reason(_ request: HTTPRequest) throws -> String {
    guard !request.body.isEmpty else { return "" }
    return try request.object(["reason"], limit: Self.maximumPurchase)
      .text("reason", limit: 1_000) ?? ""
  }

  private func commit(
    _ change: LedgerChange, _ respond: @escaping Respond,
    _ response: @escaping @Sendable (LedgerOutcome) -> HTTPResponse<APIBody>
  ) {
    commits.add([change]) { respond(Self.response(to: $0, response)) }
  }

  /// The response to a request with one change.
  private static func response(
    to results: [SaleResult], _ response: (LedgerOutcome) -> HTTPResponse<APIBody>
  ) -> HTTPResponse<APIBody> {
    switch results.first ?? .failure(.undecided) {
    case .success(let outcome): response(outcome)
    case .failure(let problem): problem.response
    }
  }
}

extension LedgerOutcome {
  /// The purchase as a JSON object.
  fileprivate var json: JSONValue { purchase?.json ?? .null }
}

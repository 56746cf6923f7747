import HostedCatalog
import HostedSelling
import HostedHTTPValues
import HostedModel
import HostedTransfer
import FoundationEssentials
import HostedShop

/// Purchases at a store server.
///
/// Every attempt has the same transaction identifier, so the server sells once. Only an answer of
/// the server decides a purchase: after a failed attempt it may be sold, so it is asked again.
extension StoreServerConnection {
  /// Returns an outcome for each order, in the same order; throws only if the task is cancelled.
  ///
  /// While others have no outcome, `onEarly` is called with each new one.
  func purchase(
    _ orders: [PurchaseOrder], onEarly: (PurchaseOrder, PurchaseOutcome) -> Void = { _, _ in }
  ) async throws -> [PurchaseOutcome] {
    var outcomes: [PurchaseOutcome?] = orders.map { order in
      Self.refusal(ofAccount: order.payment.applicationUsername).map {
        PurchaseOutcome(failing: order, $0)
      }
    }
    var early: Set<Int> = []
    var failures = 0
    while true {
      let waiting = orders.indices.filter { outcomes[$0] == nil }
      if waiting.isEmpty { return outcomes.compactMap(\.self) }
      var retryAfter: Double?
      do {
        let replies = try await replies(to: waiting.map { orders[$0] })
        for (index, reply) in zip(waiting, replies) {
          let isFirst = failures == 0 && !orders[index].isRepeated
          outcomes[index] = outcome(of: reply, orders[index], isFirst: isFirst)
        }
        retryAfter = replies.lazy.compactMap(\.retryAfter).max()
      } catch let error as ContentError where error.code == .usage && failures == 0 {
        // Nothing was sent.
        for index in waiting { outcomes[index] = PurchaseOutcome(failing: orders[index], error) }
      } catch {
        // The server may have received the orders.
      }
      guard outcomes.contains(nil) else { continue }
      for (index, outcome) in outcomes.enumerated() {
        if let outcome, early.insert(index).inserted { onEarly(orders[index], outcome) }
      }
      failures += 1
      try await pause(afterFailure: failures, retryAfter: retryAfter)
    }
  }

  /// Asks once for orders that were sent before; nil for those that must be sent again.
  func ask(for orders: [PurchaseOrder]) async throws -> [PurchaseOutcome?] {
    zip(try await replies(to: orders), orders).map { outcome(of: $0, $1, isFirst: false) }
  }

  /// The server's answer to one order.
  fileprivate struct Reply {
    let status: Int
    /// The purchase or the problem; nil if it cannot be read.
    let json: JSONValue?
    let retryAfter: Double?
    /// Whether the server may have received an earlier attempt.
    var isRepeated: Bool
  }

  private func replies(to orders: [PurchaseOrder]) async throws -> [Reply] {
    if orders.count == 1 { return [try await reply(to: orders[0])] }
    let body = JSONValue.object(["purchases": .array(orders.map(\.batchMember))])
    let response = try await send("POST", "/v1/purchases:batch", body: body)
    // Such as a batch that is too large for a proxy: this is not about one of the purchases.
    if Self.isRefusal(response.status) {
      return try await repliesAlone(to: orders, isRepeated: response.isRepeated)
    }
    let json = try? JSONValue(parsing: response.body)
    guard response.status == 200 else { return orders.map { _ in Reply(response, json) } }
    guard case .array(let results)? = json?["results"], results.count == orders.count else {
      throw ContentError.malformedAnswer("it does not have one result for each purchase")
    }
    return results.map { result in
      Reply(
        status: Int(clamping: result["status"]?.integer ?? 0),
        json: result["purchase"] ?? result["problem"], retryAfter: response.retryAfter,
        isRepeated: response.isRepeated)
    }
  }

  /// Whether a status is a final refusal of a request, and not of the access.
  private static func isRefusal(_ status: Int) -> Bool {
    (400..<500).contains(status) && ![401, 403, 408, 409, 425, 429].contains(status)
  }

  /// Sends each order alone; those without an answer are undecided.
  ///
  /// `isRepeated` is whether the server may have received them before.
  private func repliesAlone(to orders: [PurchaseOrder], isRepeated: Bool) async throws -> [Reply] {
    var replies: [Reply] = []
    for order in orders {
      do {
        var reply = try await reply(to: order)
        reply.isRepeated = reply.isRepeated || isRepeated
        replies.append(reply)
      } catch {
        try Task.checkCancellation()
        replies.append(Reply(status: 0, json: nil, retryAfter: nil, isRepeated: true))
      }
    }
    return replies
  }

  private func reply(to order: PurchaseOrder) async throws -> Reply {
    let key = HTTPHeader("Idempotency-Key", order.transaction.rawValue)
    let response = try await send(
      "POST", "/v1/purchases", headers: [key], body: .object(order.members))
    return Reply(response, try? JSONValue(parsing: response.body))
  }

  /// Returns nil if the server must be asked again.
  private func outcome(of reply: Reply, _ order: PurchaseOrder, isFirst: Bool) -> PurchaseOutcome? {
    switch reply.status {
    case 200, 201:
      // If it cannot be read, or is about another purchase, the product may still be sold.
      guard let record = reply.json.flatMap({ try? PurchaseRecord(json: $0) }),
        record.transaction.hasSameBytes(as: order.transaction.rawValue)
      else { return nil }
      return outcome(of: record, for: order.payment.applicationUsername)
    case 408, 409, 425, 429: return nil
    case 400..<500:
      // After an uncertain attempt, the answer must be about the purchase, not about the access.
      let isFirst = isFirst && !reply.isRepeated
      let isAboutAccess = reply.status == 401 || reply.status == 403
      guard isFirst || !isAboutAccess && reply.json?["title"] != nil else { return nil }
      let product = order.payment.productIdentifier.rawValue
      if reply.status == 404, Self.known(reply.json?["code"]?.integer) == nil {
        return .failed(.notOffered(product))
      }
      return .failed(error(reply.status, reply.json, about: product))
    default: return nil
    }
  }

  /// Returns the outcome that a purchase at the server has for its order, which named `account`.
  func outcome(of record: PurchaseRecord, for account: AccountID?) -> PurchaseOutcome {
    if let error = record.state.refusal(of: record.product, shown: shown) { return .failed(error) }
    if case .deferred = record.state { return .deferred }
    return .purchased(grant(of: record, requested: account), contents: record.offers)
  }

  /// Records at the server that a purchase is finished; returns false if it is unknown there.
  ///
  /// A purchase that is not sold cannot be finished. Such an answer counts as success, because
  /// asking again would not change it and would delay the notices of other purchases.
  func finish(_ number: String) async throws -> Bool {
    let path = "/v1/purchases/\(PercentEncoding.component(number))/finish"
    let response = try await send("POST", path, body: .object([:]))
    switch response.status {
    case 409: return true
    case 404 where (try? JSONValue(parsing: response.body))?["title"] != nil: return false
    default:
      try check(response)
      return true
    }
  }
}

extension StoreServerConnection.Reply {
  fileprivate init(_ response: TransferResponse, _ json: JSONValue?) {
    self.init(
      status: response.status, json: json, retryAfter: response.retryAfter,
      isRepeated: response.isRepeated)
  }
}

extension PurchaseOrder {
  /// The members of a request for one purchase.
  fileprivate var members: [String: JSONValue] {
    var members: [String: JSONValue] = [
      "productIdentifier": .string(payment.productIdentifier.rawValue),
      "quantity": .integer(Int64(payment.quantity)),
      "askToBuy": .bool(payment.simulatesAskToBuy),
    ]
    members["account"] = payment.applicationUsername.map { .string($0.rawValue) }
    return members
  }

  fileprivate var batchMember: JSONValue {
    var members = members
    members["transactionIdentifier"] = .string(transaction.rawValue)
    return .object(members)
  }
}

extension PurchaseRecord {
  /// The contents as they were sold; the catalog provides their details.
  var offers: [ContentOffer] {
    contents.map { ContentOffer($0.contentIdentifier, version: $0.version, of: product) }
  }
}

package import FoundationEssentials
import HostedConcurrency
package import HostedContent
import HostedDigests
import HostedHTTPValues
import HostedModel
package import HostedShop
import HostedTransfer

/// Asks the operator's back end to decide about each purchase.
///
/// The request is signed as in Standard Webhooks 1.0. Its identifier is the transaction, so a
/// repeated request has the same. No thread waits for the webhook.
package final class WebhookDecider: PurchaseDecider {
  private typealias Answer = @Sendable (Result<PurchaseDecision, ContentError>) -> Void

  private struct State {
    var running = 0
    var waiting: [(purchase: PurchaseRequest, answer: Answer)] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  private let sender: WebhookSender
  /// The decisions that have begun, and their answers, which may block a thread of their own.
  private let work = DispatchExecution().group()

  /// The maximum number of requests to the webhook at once, and of purchases that wait for them.
  private static let maximumRunning = 8
  private static let maximumWaiting = 256

  /// Creates a decider that sends requests to `url`, which are signed with `secret`.
  ///
  /// Does not connect yet. Throws `insecureConnectionRefused` for plain HTTP to another machine,
  /// unless `network` allows it: an attacker in the network could approve purchases.
  package init(
    url: String, secret: [UInt8], network: NetworkSettings = NetworkSettings(),
    now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    sender = try WebhookSender(url: url, secret: secret, network, now)
  }

  package func decide(_ purchase: PurchaseRequest) async throws -> PurchaseDecision {
    try await withCheckedThrowingContinuation { continuation in
      ask(about: purchase) { continuation.resume(with: $0) }
    }
  }

  private func ask(about purchase: PurchaseRequest, answer: @escaping Answer) {
    let isAdded: Bool = state.withLock { state in
      guard !state.isClosed, state.waiting.count < Self.maximumWaiting else { return false }
      work.enter()
      state.waiting.append((purchase, answer))
      return true
    }
    guard isAdded else {
      return answer(
        .failure(
          ContentError(
            .serverBusy, "Too many purchases wait for the webhook",
            remedy: "Repeat the purchase later with the same transaction")))
    }
    askNext()
  }

  /// Asks about the next purchase if one waits and not too many are asked about.
  private func askNext() {
    let next: (purchase: PurchaseRequest, answer: Answer)? = state.withLock { state in
      guard state.running < Self.maximumRunning, !state.waiting.isEmpty else { return nil }
      state.running += 1
      return state.waiting.removeFirst()
    }
    guard let next else { return }
    sender.ask(about: next.purchase) { [self] decision in
      // The answer may write to the ledger.
      work.start { [self] in
        next.answer(decision)
        state.withLock { $0.running -= 1 }
        askNext()
        work.leave()
      }
    }
  }

  /// Ends running requests, whose purchases are not decided, and waits for all answers.
  package func close() {
    state.withLock { $0.isClosed = true }
    sender.close()
    work.wait()
  }
}

/// Sends purchases to the webhook and reads its decisions.
private struct WebhookSender: Sendable {
  private let url: WebURL
  private let secret: [UInt8]
  private let session: HTTPSession
  private let now: @Sendable () -> Date

  private static let maximumAnswer = 16 << 10
  private static let timeout: Duration = .seconds(15)

  init(
    url text: String, secret: [UInt8], _ network: NetworkSettings,
    _ now: @escaping @Sendable () -> Date
  ) throws {
    url = try WebURL(text)
    self.secret = secret
    self.now = now
    var network = network
    // These are for the store.
    (network.bearerToken, network.headers) = (nil, [:])
    session = try network.session(for: [url])
    guard session.configuration.allowsSecrets(for: url) else {
      throw ContentError(
        .insecureConnectionRefused,
        "Decisions of the webhook at \(url.origin) would be received without encryption",
        remedy: "Use an https:// URL", subject: url.origin)
    }
  }

  func close() { session.close() }

  /// Asks about `purchase`, and calls `completion` once, on a thread that it must not block.
  func ask(
    about purchase: PurchaseRequest,
    completion: @escaping @Sendable (Result<PurchaseDecision, ContentError>) -> Void
  ) {
    do {
      session.send(try request(for: purchase)) { completion(decision(about: purchase, $0)) }
    } catch {
      completion(decision(about: purchase, .failure(error)))
    }
  }

  private func decision(
    about purchase: PurchaseRequest, _ result: Result<TransferResponse, any Error>
  ) -> Result<PurchaseDecision, ContentError> {
    do {
      let response = try result.get()
      guard (200..<300).contains(response.status) else {
        throw unusable("it answered with status \(response.status)")
      }
      return .success(try decision(in: response.body))
    } catch {
      let error = ContentError(error, while: "asking the webhook")
      return .failure(error.about(purchase.transaction.rawValue.printable(limit: 128)))
    }
  }

  private func request(for purchase: PurchaseRequest) throws -> TransferRequest {
    let body = purchase.webhookBody
    let timestamp = String(Int64(now().timeIntervalSince1970.rounded(.down)))
    let signature = try WebhookSignature.text(
      id: purchase.transaction.rawValue, timestamp: timestamp, body: body, secret: secret)
    var request = TransferRequest(
      url,
      headers: [
        HTTPHeader("Content-Type", "application/json"),
        HTTPHeader("webhook-id", purchase.transaction.rawValue),
        HTTPHeader("webhook-timestamp", timestamp), HTTPHeader("webhook-signature", signature),
      ], limit: Self.maximumAnswer)
    request.method = "POST"
    request.body = body
    request.attempts = 1
    request.deadline = Self.timeout.inSeconds
    request.returnsEveryStatus = true
    return request
  }

  private func decision(in body: [UInt8]) throws -> PurchaseDecision {
    let json = try? JSONValue(parsing: body, limit: Self.maximumAnswer, rules: .anyNumber)
    guard let answer = json else { throw unusable("its answer is not JSON") }
    switch answer["decision"]?.string {
    case "approve": return .approve(try terms(answer))
    case "decline":
      let reason = (answer["reason"]?.string ?? "").printable(limit: 200)
      return .decline(reason: reason.isEmpty ? "The seller declined the purchase" : reason)
    case "later": return .later
    case "interrupt": return .interrupt
    default: throw unusable("its answer has no known decision")
    }
  }

  /// The price, its currency and the provider's number, as far as the answer has them.
  private func terms(_ answer: JSONValue) throws -> PurchaseTerms {
    var terms = PurchaseTerms(reference: answer["reference"]?.string)
    if let price = answer["price"], price != .null {
      guard let text = price.string, let currency = answer["currency"]?.string,
        let found = Price(text: text, currency: currency)
      else { throw unusable("its price is not a text such as “2.99” with a currency") }
      terms.price = found
    }
    return terms
  }

  private func unusable(_ reason: String) -> ContentError {
    ContentError(
      .serviceFailed, "The webhook at \(url) did not decide: \(reason)",
      remedy: "Check the webhook. The buyer repeats the purchase with the same transaction")
  }
}

extension PurchaseRequest {
  fileprivate var webhookBody: [UInt8] {
    var members: [String: JSONValue] = [
      "type": .string("purchase.decide"), "approved": .bool(isApproved),
      "transactionIdentifier": .string(transaction.rawValue),
      "productIdentifier": .string(productIdentifier.rawValue),
      "quantity": .integer(Int64(quantity)), "askToBuy": .bool(asksToBuy),
      "account": .null, "voucher": .null, "price": .null, "currency": .null,
    ]
    if let account { members["account"] = .string(account.rawValue) }
    if let voucher { members["voucher"] = .string(voucher) }
    if let price {
      members["price"] = .string("\(price.amount)")
      members["currency"] = .string(price.currency)
    }
    return JSONValue.object(members).encoded
  }
}

/// Signatures of requests, as in Standard Webhooks 1.0.
package enum WebhookSignature {
  /// Returns the value of the header `webhook-signature`.
  package static func text(
    id: String, timestamp: String, body: [UInt8], secret: [UInt8]
  ) throws -> String {
    let code = try HMAC.sha256(Array("\(id).\(timestamp).".utf8) + body, key: secret)
    return "v1,\(Data(code).base64EncodedString())"
  }
}

/// The secret of a webhook.
package enum WebhookSecret {
  /// Returns the bytes of a secret: base64 after `whsec_`, or else the text itself.
  package static func bytes(_ text: String) -> [UInt8] {
    let prefix = "whsec_"
    guard text.hasPrefix(prefix),
      let data = Data(base64Encoded: String(text.dropFirst(prefix.count)))
    else { return Array(text.utf8) }
    return Array(data)
  }
}

package import HostedCatalog
package import HostedHTTPValues
package import HostedModel
package import HostedTransfer
package import FoundationEssentials
import HostedShop

/// Sends requests with a token to a store server, and reads its answers.
package final class StoreServerConnection: Sendable {
  private let session: HTTPSession
  /// For long polls.
  ///
  /// With the same pauses, other requests would wait for the end of a poll after the server was
  /// busy.
  private let pollSession: HTTPSession
  /// The server's URL, without a slash at its end.
  private let base: String
  private let token: String
  /// The only account that the token allows: the claim `sub` of a JWT; nil for other tokens.
  ///
  /// Requests without an account are for this one. Without it, they are for the key's own account.
  package let pinnedAccount: AccountID?
  private let retry: RetryPolicy

  private static let answerLimit = 32 << 20
  /// The time in seconds that a decision about a purchase may take.
  private static let decisionTimeout = 20.0

  package init(_ url: URL, token: String, network: NetworkSettings) throws {
    let server = try WebURL(url.absoluteString)
    guard (1...4_096).contains(token.utf8.count),
      token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else {
      throw ContentError(
        .usage, "The token for \(server.origin) is invalid",
        remedy: "Use the token that the store server has created with the key",
        subject: server.origin)
    }
    var network = network
    network.bearerToken = token
    let session = try network.session(for: [server])
    self.session = session
    pollSession = try network.session(for: [server], pauses: HostPauses())
    self.token = token
    pinnedAccount = Self.subject(of: token)
    let text = server.parts.base
    base = String(text.hasSuffix("/") ? text.dropLast() : text)
    var retry = session.configuration.retry
    retry.firstDelay *= 2
    retry.longestDelay = 60
    self.retry = retry
  }

  /// Ends running requests, and refuses later ones.
  package func close() {
    session.close()
    pollSession.close()
  }

  // MARK: Requests

  /// Sends a request, and returns the answer with any final status.
  ///
  /// A request may be sent several times. Cancelling the task ends it. If the server waits before
  /// it answers, `wait` is this time in seconds, and the request has one attempt. `attempts` is
  /// their maximum number; nil is that of the session.
  package func send(
    _ method: String, _ path: String, headers: [HTTPHeader] = [], body: JSONValue? = nil,
    wait: Int? = nil, attempts: Int? = nil
  ) async throws -> TransferResponse {
    var request = TransferRequest(
      try WebURL(base + path), headers: headers + [HTTPHeader("Accept", "application/json")],
      limit: Self.answerLimit)
    request.method = method
    request.isRepeatable = true
    request.attempts = attempts
    if let body {
      request.body = body.encoded
      request.headers.append(HTTPHeader("Content-Type", "application/json"))
    }
    if let wait {
      request.attempts = 1
      request.stallTimeout = Double(wait) + 15
    } else if method != "GET" {
      request.stallTimeout = max(Self.decisionTimeout, session.configuration.stallTimeout)
    }
    let ticket = TransferTicket(priority: .max)
    request.ticket = ticket
    return try await withTaskCancellationHandler {
      try await (wait == nil ? session : pollSession).response(to: request)
    } onCancel: {
      ticket.cancel(throwing: CancellationError())
    }
  }

  /// Waits before the attempt after failure number `failure` (from 1) in a row.
  func pause(afterFailure failure: Int, retryAfter: Double? = nil) async throws {
    let seconds = retry.delay(
      afterFailure: failure, retryAfter: retryAfter, random: .random(in: 0.5...1))
    try await Task.sleep(for: .seconds(seconds))
  }

  // MARK: Answers

  /// Returns the JSON of a successful answer; throws the server's problem otherwise.
  package func json(_ response: TransferResponse) throws -> JSONValue {
    try check(response)
    do {
      return try JSONValue(parsing: response.body)
    } catch {
      throw ContentError.malformedAnswer("\(error)")
    }
  }

  /// Throws the server's problem if the answer is not a success.
  package func check(_ response: TransferResponse) throws {
    guard !(200..<300).contains(response.status) else { return }
    throw error(response.status, try? JSONValue(parsing: response.body))
  }

  /// Creates the error of an answer with a problem (RFC 9457), which may be missing.
  func error(_ status: Int, _ problem: JSONValue?, about subject: String? = nil) -> ContentError {
    let byStatus = Self.code(ofStatus: status)
    let code =
      byStatus == .accessDenied ? byStatus : Self.known(problem?["code"]?.integer) ?? byStatus
    let detail = problem?["detail"]?.string ?? problem?["title"]?.string
    return ContentError(
      code, detail.map(shown) ?? "The store server answered with status \(status)",
      remedy: problem?["remedy"]?.string.map(shown) ?? Self.remedy(for: code),
      subject: subject ?? problem?["subject"]?.string.map(shown))
  }

  /// Returns a text of the server as one line, without the token.
  func shown(_ text: String) -> String {
    text.replacing(token, with: "…").printable(limit: 500)
  }

  /// Returns the code with this number if a store server may use it.
  static func known(_ number: Int64?) -> ContentError.Code? {
    let number = number.flatMap { Int(exactly: $0) }
    return serverCodes.first { $0.rawValue == number }
  }

  private static let serverCodes: [ContentError.Code] = [
    .storeMissing, .storeLocked, .storeDamaged, .serverFailed, .serverBusy, .accessDenied,
    .requestRefused, .storeRolledBack, .ledgerFailed, .diskFull, .metadataDamaged,
    .signatureInvalid, .metadataExpired, .metadataRolledBack, .digestMismatch, .keyUnusable,
    .limitExceeded, .productUnknown, .notEntitled, .transactionExists, .notForSale,
    .serviceFailed, .identifierInvalid, .cannotFinish, .paymentInvalid,
  ]

  private static func code(ofStatus status: Int) -> ContentError.Code {
    switch status {
    case 401, 403: .accessDenied
    case 429, 503: .serverBusy
    case 500...: .serverFailed
    default: .requestRefused
    }
  }

  private static func remedy(for code: ContentError.Code) -> String {
    switch code {
    case .accessDenied: "Check the token, and the scopes of its key"
    case .serverBusy, .serverFailed: "Try again later"
    case .productUnknown: "Check the identifier, or list the products of the store"
    default: "Check the address of the store server, and that it has a compatible version"
    }
  }
}

extension TransferResponse {
  /// The delay that the server asks for, in seconds; nil if it does not ask.
  var retryAfter: Double? { RetryPolicy.retryAfter(headers["retry-after"], now: Date()) }
}

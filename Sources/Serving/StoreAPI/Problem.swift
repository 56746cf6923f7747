package import HostedModel
import HostedShop
package import HostedHTTPValues

/// An error response: problem details (RFC 9457).
package struct Problem: Error {
  package let status: Int
  package let error: ContentError
  package let headers: HTTPHeaders
  /// Additional members of the document.
  let members: [String: JSONValue]

  package init(
    _ status: Int, _ error: ContentError, headers: HTTPHeaders = [:],
    members: [String: JSONValue] = [:]
  ) {
    self.status = status
    self.error = error
    self.headers = headers
    self.members = members
  }

  /// The seconds after which the request can be repeated; nil if waiting does not help.
  var retryAfter: Int? { headers["retry-after"].flatMap { Int($0) } }

  package var response: HTTPResponse<APIBody> {
    .json(status, json, headers: headers, type: "application/problem+json")
  }

  /// The document; without the cause of the error, which is for the operator.
  var json: JSONValue {
    var document: [String: JSONValue] = [
      "type": .string("about:blank"),
      "title": .string(HTTPStatus.reason(status)),
      "status": .integer(Int64(status)),
      "detail": .string(error.message),
      "code": .integer(Int64(error.code.rawValue)),
      "remedy": .string(error.remedy),
    ]
    if let subject = error.subject { document["subject"] = .string(subject) }
    document.merge(members) { own, _ in own }
    return .object(document)
  }
}

extension Problem {
  /// The problem for any error; calls `report` with an error of the server itself.
  init(_ error: any Error, report: (ContentError) -> Void) {
    switch error {
    case let problem as Problem: self = problem
    case let refusal as LedgerRefusal: self.init(refusal, report)
    case SaleRefusal.refused(let refusal): self.init(refusal, report)
    case let refusal as SaleRefusal: self.init(refusal, report)
    default: self.init(failure: ContentError(error, while: "processing a request"), report)
    }
  }

  private init(_ refusal: LedgerRefusal, _ report: (ContentError) -> Void) {
    switch refusal {
    case .otherRequest: self = .otherRequest
    case .otherChange: self = .otherChange
    case .erased: self = .erased
    case .unknownTransaction: self = .unknownTransaction
    case .impossible(let record), .needsDecision(let record, _): self = .impossible(record.state)
    case .tooManyWaiting(let count):
      self = .busy(
        "\(count) purchases of the account wait for approval",
        remedy: "Wait until some of them are decided", status: 429, after: 3_600)
    case .failed(let error): self.init(failure: error, report)
    }
  }

  private init(_ refusal: SaleRefusal, _ report: (ContentError) -> Void) {
    switch refusal {
    case .refused(let refusal): self.init(refusal, report)
    case .busy: self = .undecided
    case .tooManyLookUps: self = .tooManyLookups
    case .notOffered(let product): self = .notOffered(product)
    case .notReady: self = .notReady
    // The writer of the ledger has reported it.
    case .commitFailed(let error): self.init(failure: error) { _ in }
    case .catalogFailed(let error), .ledgerFailed(let error), .deciderFailed(let error):
      self.init(failure: error, report)
    }
  }

  /// The details may name files and databases, so that they are only reported.
  private init(failure: ContentError, _ report: (ContentError) -> Void) {
    // A server that stops ends what its requests wait for.
    if failure.code != .stopped { report(failure) }
    if failure.group == .internal {
      self.init(
        500,
        ContentError(
          .serverFailed, "The server has an internal error",
          remedy: "Ask the server's operator to read its log"))
    } else {
      self = .busy(
        "The server cannot process the request now",
        remedy: "Try again later. If it does not help, ask the server's operator")
    }
  }

  /// The client can repeat the request after a few seconds.
  static func busy(
    _ message: String, remedy: String = "Repeat the request later", status: Int = 503,
    after seconds: Int = 1
  ) -> Problem {
    Problem(
      status, ContentError(.serverBusy, message, remedy: remedy),
      headers: ["Retry-After": "\(seconds)"])
  }

  package static func refused(
    _ status: Int, _ message: String, remedy: String,
    headers: HTTPHeaders = [:], members: [String: JSONValue] = [:]
  ) -> Problem {
    Problem(
      status, ContentError(.requestRefused, message, remedy: remedy), headers: headers,
      members: members)
  }

  /// `reason` is a clause.
  static func malformed(_ reason: String) -> Problem {
    refused(
      400, "Invalid request: \(reason)",
      remedy: "Correct the request. /v1/openapi.json describes it")
  }

  static func unauthorized(_ message: String) -> Problem {
    Problem(
      401,
      ContentError(
        .accessDenied, message,
        remedy: "Send the header “Authorization: Bearer TOKEN” with a valid token"),
      headers: ["WWW-Authenticate": "Bearer"])
  }

  static func forbidden(_ message: String, remedy: String) -> Problem {
    Problem(403, ContentError(.accessDenied, message, remedy: remedy))
  }

  static var unknownTransaction: Problem {
    refused(
      404, "Transaction not found", remedy: "Check the transaction identifier and the account")
  }

  /// The other request is not described, because it may be of another account.
  static var otherRequest: Problem {
    Problem(
      422,
      ContentError(
        .transactionExists, "The transaction identifier was used for a different request",
        remedy: "Repeat a request unchanged, or use a new transaction identifier"))
  }

  /// The key of a change was used for another change.
  static var otherChange: Problem {
    Problem(
      422,
      ContentError(
        .transactionExists, "The Idempotency-Key was used for a different change",
        remedy: "Repeat a change unchanged, or use a new key"))
  }

  static var erased: Problem {
    Problem(
      410,
      ContentError(
        .notEntitled, "The account of the purchase was erased",
        remedy: "Buy the product again with a new transaction identifier"))
  }

  static func notOffered(_ product: ProductIdentifier) -> Problem {
    Problem(
      404,
      ContentError(
        .productUnknown, "The store does not offer the product \(product)",
        remedy: "Check the product identifier", subject: product.rawValue))
  }

  /// The server does not sell what it cannot prove.
  static var notReady: Problem {
    busy(
      "The server does not sell now", remedy: "Ask the server's operator to read its log",
      after: 10)
  }

  static func impossible(_ state: PurchaseState) -> Problem {
    refused(
      409, "The change is not possible: the purchase is \(state.name)",
      remedy: "Request a change that this state allows", members: ["state": .string(state.name)])
  }

  static var tooManyLookups: Problem {
    busy("Too many requests wait for the store", after: 5)
  }

  static var undecided: Problem {
    busy(
      "The transaction is being processed", remedy: "Repeat the same request later", status: 409)
  }
}

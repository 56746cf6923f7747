import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import Testing

/// Answers of a store server, and a service that asks it.
enum StoreServerScript {
  static let token = "hct_the-secret-token"

  static func service(_ server: ScriptedServer) throws -> HTTPStoreService {
    var network = NetworkSettings()
    network.proxy = .direct
    network.firstRetryDelay = .milliseconds(1)
    return try HTTPStoreService(
      url: try #require(URL(string: server.url())), token: token, network: network)
  }

  /// A purchase as JSON; `more` are further members, each after a comma.
  static func purchase(
    _ transaction: String, of product: String = "a", account: String? = "key-1",
    state: String = "purchased", revision: Int = 1, date: String = "2026-01-02T03:04:05.678Z",
    _ more: String = ""
  ) -> String {
    let account = account.map { "\"\($0)\"" } ?? "null"
    return """
      {"transactionIdentifier":"\(transaction)","productIdentifier":"\(product)",
      "account":\(account),"quantity":1,"state":"\(state)","purchaseDate":"\(date)",
      "receipt":"a.b.c","contents":[{"contentIdentifier":"\(product)","version":"1.0"}],
      "isRestorable":true,"isFinished":false,"revision":\(revision)\(more)}
      """
  }

  static func event(
    _ cursor: String, _ kind: String, _ purchase: String = "null", _ more: String = ""
  ) -> String {
    """
    {"cursor":"\(cursor)","kind":"\(kind)","at":"2026-01-02T03:04:05.678Z",
    "purchase":\(purchase)\(more)}
    """
  }

  /// The answer of a server without new events, which has lost those after the cursor `lost`.
  static func noEvents(_ path: String, after lost: String? = nil, cursor: String = "new.1")
    -> ScriptedServer.Answer
  {
    if let lost, path.hasSuffix("after=\(lost)") {
      return .json("410 Gone", problem(410, "Gone"))
    }
    return path.contains("wait=0")
      ? .json("200 OK", #"{"events":[],"cursor":"\#(cursor)"}"#) : .init([], then: .hang)
  }

  static func problem(_ status: Int, _ detail: String, code: Int? = nil) -> String {
    let code = code.map { ",\"code\":\($0)" } ?? ""
    return #"{"type":"about:blank","title":"No","status":\#(status),"detail":"\#(detail)"\#(code)}"#
  }

  static func product(_ name: String) throws -> String {
    let identifier = try ProductIdentifier(validating: name)
    let product = Product(
      productIdentifier: identifier, type: .nonConsumable,
      texts: ["en": ProductText(title: name)], price: nil,
      contents: [ContentOffer(identifier, version: "2.0", of: identifier)])
    return String(decoding: try JSONEncoder().encode(product), as: UTF8.self)
  }
}

extension ScriptedServer.Answer {
  static func json(_ status: String, _ text: String, _ headers: [String] = []) -> Self {
    .http(status, ["Content-Type: application/json"] + headers, body: Array(text.utf8))
  }
}

extension ScriptedServer.Request {
  var json: JSONValue? { try? JSONValue(parsing: body) }
}

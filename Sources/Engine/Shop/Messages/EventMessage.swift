package import HostedModel
import FoundationEssentials

/// Messages of the store server's API, as the server writes and a client reads them.
extension PurchaseRecord {
  /// The maximum length of a receipt in bytes, as Trust reads it.
  package static let maximumReceipt = 16 << 10

  /// The purchase as a JSON object.
  package var json: JSONValue {
    var members: [String: JSONValue] = [
      "transactionIdentifier": .string(transaction),
      "productIdentifier": .string(product.rawValue),
      "account": account.map { .string($0.rawValue) } ?? .null,
      "quantity": .integer(Int64(quantity)),
      "state": .string(state.name),
      "purchaseDate": .string(MessageDate.text(date)),
      "receipt": receipt.map { .string($0) } ?? .null,
      "contents": .array(contents.map(\.json)),
      "isRestorable": .bool(isRestorable),
      "isFinished": .bool(finished != nil),
      "revision": .integer(revision),
    ]
    members["originalTransactionIdentifier"] = original.map { .string($0.transaction) }
    members["originalPurchaseDate"] = original.map { .string(MessageDate.text($0.date)) }
    switch state {
    case .purchased: break
    case .deferred(let wait): members["waitsFor"] = .string(wait.rawValue)
    case .failed(.interrupted): members["isInterrupted"] = .bool(true)
    case .failed(.declined(let reason)): members["reason"] = .string(reason)
    case .refunded(let date, let reason), .revoked(let date, let reason):
      members["reason"] = .string(reason)
      members["revocationDate"] = .string(MessageDate.text(date))
    }
    return .object(members)
  }

  /// Reads a purchase from a server's response; throws `answerUnusable` if it is malformed.
  package init(json: JSONValue) throws {
    let fields = MessageFields(json, of: "a purchase")
    let transaction = try fields.text("transactionIdentifier", limit: 256)
    let reason = try fields.optionalText("reason", limit: 1_000) ?? ""
    let revoked = try fields.optionalDate("revocationDate")
    let state: PurchaseState =
      switch try fields.text("state", limit: 40) {
      // A wait that this version does not know is not one for approval.
      case "deferred": .deferred(json["waitsFor"]?.string == "approval" ? .approval : .payment)
      case "purchased": .purchased
      case "failed":
        .failed(json["isInterrupted"] == .bool(true) ? .interrupted : .declined(reason))
      case "refunded": .refunded(at: revoked ?? .distantPast, reason: reason)
      case "revoked": .revoked(at: revoked ?? .distantPast, reason: reason)
      default: throw fields.invalid("state")
      }
    guard let quantity = json["quantity"]?.integer, (1...10).contains(quantity) else {
      throw fields.invalid("quantity")
    }
    let original = try fields.optionalText("originalTransactionIdentifier", limit: 256).map {
      Original(transaction: $0, date: try fields.date("originalPurchaseDate"))
    }
    self.init(
      transaction: transaction, original: original,
      account: try fields.optionalText("account", limit: 256).map(AccountID.init(rawValue:)),
      product: try fields.identifier("productIdentifier"), quantity: Int(quantity), state: state,
      date: try fields.date("purchaseDate"),
      receipt: try fields.optionalText("receipt", limit: Self.maximumReceipt),
      // More than the record of a product can have.
      contents: try fields.list("contents", limit: 10_000).map { try ContentKey(json: $0) },
      isRestorable: json["isRestorable"] != .bool(false),
      finished: json["isFinished"] == .bool(true) ? .distantPast : nil, sequence: 0,
      revision: json["revision"]?.integer ?? 0)
  }
}

extension ContentKey {
  /// The content as a JSON object.
  package var json: JSONValue {
    .object([
      "contentIdentifier": .string(contentIdentifier.rawValue),
      "version": .string(version.rawValue),
    ])
  }

  /// Reads a content from a message; throws `answerUnusable` if it is malformed.
  package init(json: JSONValue) throws {
    let fields = MessageFields(json, of: "a content")
    guard let version = try? ContentVersion(validating: fields.text("version", limit: 256)) else {
      throw fields.invalid("version")
    }
    self.init(try fields.identifier("contentIdentifier"), version: version)
  }
}

/// An event in a message.
package struct EventMessage: Hashable, Sendable {
  /// The opaque position after the event.
  package let cursor: String
  /// Nil for a kind that this version does not know.
  ///
  /// `decidedAfterInterruption` is sent as `decided` with `wasInterrupted`.
  package let kind: LedgerEvent.Kind?
  package let purchase: PurchaseRecord?

  /// Reads an event from a server's response; throws `answerUnusable` if it is malformed.
  package init(json: JSONValue) throws {
    let fields = MessageFields(json, of: "an event")
    cursor = try fields.text("cursor", limit: 256)
    let kind = LedgerEvent.Kind(rawValue: try fields.text("kind", limit: 100))
    self.kind =
      kind == .decided && json["wasInterrupted"] == .bool(true) ? .decidedAfterInterruption : kind
    purchase =
      switch json["purchase"] {
      case nil, .null?: nil
      case let purchase?: try PurchaseRecord(json: purchase)
      }
  }
}

extension LedgerEvent.Kind {
  package var nameInMessages: String {
    switch self {
    case .decidedAfterInterruption, .declined: LedgerEvent.Kind.decided.rawValue
    case .purchased, .decided, .refunded, .revoked, .reversed, .published: rawValue
    }
  }
}

extension LedgerEvent {
  /// The event as a JSON object.
  package func json(cursor: String) -> JSONValue {
    .object([
      "cursor": .string(cursor), "kind": .string(kind.nameInMessages),
      "wasInterrupted": .bool(kind == .decidedAfterInterruption),
      "account": (purchase?.account).map { .string($0.rawValue) } ?? .null,
      "transaction": (purchase?.transaction).map { .string($0) } ?? .null,
      "at": .string(MessageDate.text(date)), "purchase": purchase?.json ?? .null,
    ])
  }
}

import HostedHTTPValues
import HostedModel
import HostedShop

/// The operation that a request's method and path name.
struct Route: Hashable, Sendable {
  let operation: Operation
  /// The transaction or the account in the path; empty in other paths.
  let name: String

  enum Operation: Hashable, Sendable, CaseIterable {
    case health, readiness, description, authorize
    case products, purchase, batch, transaction, finish
    case approve, decline, refund, revoke, reverse
    case entitlements, history, erase
    case events, grant
  }

  /// The method and the operation of each path; `*` is a transaction or an account.
  static let table: [String: (method: String, operation: Operation)] = [
    "/healthz": ("GET", .health),
    "/readyz": ("GET", .readiness),
    "/internal/authorize": ("GET", .authorize),
    "/v1/openapi.json": ("GET", .description),
    "/v1/products": ("GET", .products),
    "/v1/purchases": ("POST", .purchase),
    "/v1/purchases:batch": ("POST", .batch),
    "/v1/purchases/*": ("GET", .transaction),
    "/v1/purchases/*/finish": ("POST", .finish),
    "/v1/purchases/*/approve": ("POST", .approve),
    "/v1/purchases/*/decline": ("POST", .decline),
    "/v1/purchases/*/refund": ("POST", .refund),
    "/v1/purchases/*/revoke": ("POST", .revoke),
    "/v1/purchases/*/reverse": ("POST", .reverse),
    "/v1/accounts/*/entitlements": ("GET", .entitlements),
    "/v1/accounts/*/history": ("GET", .history),
    "/v1/accounts/*/erase": ("POST", .erase),
    "/v1/events": ("GET", .events),
    "/v1/content-grants": ("POST", .grant),
  ]

  /// Throws a problem with status 404 or 405.
  init(_ method: String, _ components: [String]) throws {
    var template = components
    var name = ""
    if components.count > 2, components[0] == "v1",
      ["purchases", "accounts"].contains(components[1])
    {
      (name, template[2]) = (components[2], "*")
    }
    let path = "/" + template.joined(separator: "/")
    // An escaped slash is part of a name, and no other component has one.
    guard let (verb, operation) = Self.table[path], path.contains("*") == !name.isEmpty,
      !template.contains(where: { $0.utf8.contains(UInt8(ascii: "/")) })
    else {
      throw Problem.refused(
        404, "The server has no such path",
        remedy: "Check the path. /v1/openapi.json lists all paths")
    }
    // A stream of events has no end, so HEAD cannot describe it.
    let methods = verb == "GET" && operation != .events ? ["GET", "HEAD"] : [verb]
    guard methods.contains(method) else {
      let allowed = methods.joined(separator: ", ")
      throw Problem.refused(
        405, "The path does not support the method \(method.printable(limit: 20))",
        remedy: "Use one of these methods: \(allowed)", headers: ["Allow": allowed])
    }
    self.operation = operation
    self.name = name
  }
}

extension Route.Operation {
  /// The scopes of which the caller needs one; nil if it needs no key.
  ///
  /// A key that may buy for each account may also read each account.
  var scopes: Set<KeyScope>? {
    switch self {
    case .health, .readiness, .description, .authorize: nil
    case .products, .transaction, .entitlements, .history, .events: [.read, .purchase]
    case .purchase, .batch, .finish: [.purchase]
    case .approve, .decline, .refund, .revoke, .reverse, .erase: [.admin]
    case .grant: [.content]
    }
  }
}

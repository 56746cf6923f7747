package import HostedHTTPValues
package import HostedModel
package import FoundationEssentials
package import HostedShop

/// Gives buyers the URLs of packages, and decides for the content host whether a URL is valid.
///
/// Thread-safe. `grant` blocks on the ledger and on the catalog; `authorize` does not block.
package struct GrantIssuer: Sendable {
  let gate: ContentGate?
  let addresses: [ContentAddress]
  private let ledger: Ledger
  private let catalog: any ListedCatalog
  let now: @Sendable () -> Date

  /// The time until clients ask again for URLs that do not expire.
  private static let publicLifetime: Duration = .seconds(86_400)
  /// The maximum number of contents in a request.
  private static let maximumContents = 64

  /// Creates the grants of a store whose packages are behind `gate`; nil if they are public.
  package init(
    _ gate: ContentGate?, ledger: Ledger, catalog: any ListedCatalog,
    now: @escaping @Sendable () -> Date
  ) {
    self.gate = gate
    self.ledger = ledger
    self.catalog = catalog
    self.now = now
    addresses = gate?.contentURLs.map(ContentAddress.init) ?? []
  }

  /// Whether packages are only for buyers.
  package var isGated: Bool { gate != nil }

  // MARK: Grants

  /// Returns the URLs of the package and index of each content in a request.
  ///
  /// Throws a problem with status 400, 403 or 404, and the errors of ledger and catalog. Without a
  /// gate, the response has no files: all are public, at the addresses of the store.
  package func grant(_ body: JSONValue, for access: AccountAccess) throws -> HTTPResponse<APIBody> {
    let fields = try RequestFields(body, of: "the body", ["account", "transaction", "contents"])
    let contents = try fields.list("contents", 1...Self.maximumContents).map { element in
      let fields = try RequestFields(element, of: "a content", ["contentIdentifier", "version"])
      guard let content = try? ContentKey(json: fields.json) else {
        throw Problem.malformed("contents has an invalid contentIdentifier or version")
      }
      return content
    }
    let scope = try scope(of: fields, access)
    let lifetime = gate?.lifetime ?? Self.publicLifetime
    let expires = Int64((now().timeIntervalSince1970 + lifetime.inSeconds).rounded(.down))
    guard let gate else { return response([], until: expires) }
    var owned = OwnedProducts(scope, ledger, catalog)
    let offers = try contents.map { try owned.offer(of: $0) }
    let files = try offers.flatMap { [$0.package.path, $0.index.path] }.map { path in
      JSONValue.object([
        "target": .string(path),
        "urls": .array(
          try urls(of: path, gate, for: scope.account ?? "", until: expires).map { .string($0) }),
      ])
    }
    return response(files, until: expires)
  }

  private func response(_ files: [JSONValue], until expires: Int64) -> HTTPResponse<APIBody> {
    let date = Date(timeIntervalSince1970: Double(expires))
    return .json(
      200, .object(["expires": .string(MessageDate.text(date)), "files": .array(files)]))
  }

  private func scope(
    of fields: RequestFields, _ access: AccountAccess
  ) throws -> OwnedProducts.Scope {
    let name = try fields.text("account", limit: 256)
    guard let transaction = try fields.text("transaction", limit: 128) else {
      return OwnedProducts.Scope(account: try access.account(name))
    }
    guard name == nil else {
      throw Problem.malformed("it names both an account and a transaction")
    }
    guard transaction.isVisibleIdentifier else {
      throw Problem.malformed(
        "the transaction is not 1 to 128 visible ASCII characters, or is “.” or “..”")
    }
    // A purchase of another account is refused like an unknown one.
    guard let purchase = try ledger.purchase(transaction), purchase.state == .purchased,
      access.mayUse(purchase.account)
    else { throw Problem.notPurchased("The transaction is not a purchase of the caller") }
    return OwnedProducts.Scope(account: purchase.account, purchase: purchase)
  }

  /// Returns the URLs of the file at `path` below the store, one for each address.
  private func urls(
    of path: String, _ gate: ContentGate, for account: AccountID, until expires: Int64
  ) throws -> [String] {
    let secret = gate.secret
    return try addresses.map { address in
      let query =
        switch gate.module {
        case .authRequest:
          "?grant="
            + (try GrantSignature.grant(path, account: account, expires: expires, secret: secret))
        case .secureLink:
          try GrantSignature.secureLink(address.folder + path, until: expires, secret: secret)
        }
      return "\(address.url)/\(PercentEncoding.path(path))\(query)"
    }
  }
}

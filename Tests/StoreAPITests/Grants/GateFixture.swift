import HostedHTTPValues
import HostedModel
import HostedTrust
import FoundationEssentials
import HostedStoreAPI
import HostedShop
import HostedTestSupport
import Testing

/// Grants for a store with two products, a ledger in a temporary folder, and a clock.
final class GateFixture: Sendable {
  let folder: TemporaryFolder
  let ledger: Ledger
  let grants: GrantIssuer
  private let clock: Watched<Date>

  static let secret = Array("a secret of the gate".utf8)
  static let date = Date(timeIntervalSince1970: 1_800_000_000)
  static let lifetime: Duration = .seconds(600)

  /// Behind nginx's module auth_request at `urls`.
  convenience init(
    _ urls: [String] = ["https://content.example/"], catalog: GateCatalog = GateCatalog()
  ) throws {
    try self.init(
      ContentGate(
        .authRequest, secret: Self.secret, contentURLs: urls, lifetime: Self.lifetime),
      catalog: catalog)
  }

  init(_ gate: ContentGate?, catalog: GateCatalog = GateCatalog()) throws {
    let clock = Watched(Self.date)
    self.clock = clock
    folder = try TemporaryFolder()
    ledger = Ledger(try SQLiteLedger(in: folder.directory))
    grants = GrantIssuer(gate, ledger: ledger, catalog: catalog, now: { clock.value })
  }

  func advance(_ seconds: Double) { clock.change { $0.addTimeInterval(seconds) } }

  func sell(
    _ transaction: String, _ product: ProductIdentifier, to account: AccountID? = "ada",
    state: PurchaseState = .purchased, contents: [ContentKey] = []
  ) throws {
    let draft = try PurchaseDraft(
      test: transaction, product, account, state: state, contents: contents)
    try change(.purchase(draft))
  }

  func change(_ change: LedgerChange) throws {
    for result in try ledger.commit([change], at: Self.date) { _ = try result.get() }
  }

  /// Requests a grant with the key of the account `key-shop`.
  ///
  /// `contents` are an identifier and a version each.
  func grant(
    _ contents: [(String, String)], account: AccountID? = "ada", transaction: String? = nil,
    restriction: AccountID? = nil
  ) throws -> [GrantedFile] {
    var body: [String: JSONValue] = [
      "contents": .array(
        contents.map {
          .object(["contentIdentifier": .string($0.0), "version": .string($0.1)])
        })
    ]
    if let account { body["account"] = .string(account.rawValue) }
    if let transaction { body["transaction"] = .string(transaction) }
    return try grant(.object(body), restriction: restriction)
  }

  func grant(_ body: JSONValue, restriction: AccountID? = nil) throws -> [GrantedFile] {
    let response = try grants.grant(
      body, for: AccountAccess(restriction: restriction, keyAccount: "key-shop"))
    #expect(response.status == 200)
    #expect(response.field("Cache-Control") == "no-store")
    let json = try response.json
    let expires = try #require(json["expires"]?.string.flatMap { MessageDate.date($0) })
    #expect(expires > clock.value)
    guard case .array(let files)? = json["files"] else { throw UnexpectedBody() }
    return try files.map { file in
      guard case .array(let urls)? = file["urls"] else { throw UnexpectedBody() }
      return GrantedFile(
        target: try #require(file["target"]?.string), urls: urls.compactMap(\.string))
    }
  }

  /// The status of the problem that a request for a grant gets; nil if it gets one.
  func refusal(
    _ contents: [(String, String)], account: AccountID? = "ada", transaction: String? = nil,
    restriction: AccountID? = nil
  ) throws -> Int? {
    do {
      _ = try grant(
        contents, account: account, transaction: transaction, restriction: restriction)
      return nil
    } catch let problem as Problem {
      return problem.status
    }
  }

  /// The status of a request of the content host.
  func status(_ uri: String?) -> Int { grants.authorize(originalURI: uri).status }
}

/// A file of a grant.
struct GrantedFile: Equatable {
  let target: String
  let urls: [String]

  /// The request target of the first URL, without the origin.
  var uri: String {
    String((urls.first ?? "").dropFirst("https://".count).drop { $0 != "/" })
  }
}

/// The catalog of a store in which each version can be downloaded.
struct GateCatalog: ListedCatalog {
  let version = "1"
  var failures: [ContentError] = []

  private static var products: [ProductIdentifier: [ContentOffer]] {
    get throws {
      [
        "space": [
          try offer("space", "1.1", of: "space"), try offer("space", "1.0", of: "space"),
        ],
        "atlas": [
          try offer("atlas", "2", of: "atlas"), try offer("maps", "3", of: "atlas"),
          try offer("sounds", "1", of: "atlas"),
        ],
      ]
    }
  }

  func products(_ identifiers: Set<ProductIdentifier>) throws -> SaleProducts {
    let found = try Self.products.filter { identifiers.contains($0.key) }
    let products = found.map { product, offers in
      var seen: Set<ProductIdentifier> = []
      return Product(
        productIdentifier: product, type: .nonConsumable,
        texts: ["en": ProductText(title: product.rawValue)], price: nil,
        contents: offers.filter { seen.insert($0.contentIdentifier).inserted })
    }
    return SaleProducts(products: products, failures: failures)
  }

  func page(after position: ProductIdentifier?, limit: Int) throws -> SaleProducts {
    try products(Set(Self.products.keys))
  }

  func known(_ identifiers: Set<ProductIdentifier>) -> SaleProducts? { nil }

  func offers(of product: ProductIdentifier) throws -> [ContentOffer] {
    try Self.products[product] ?? []
  }

  private static func offer(
    _ content: ProductIdentifier, _ version: ContentVersion, of product: ProductIdentifier
  ) throws -> ContentOffer {
    let folder =
      (["targets"] + StorePath.folder(product, content, version)).joined(separator: "/")
    let digest = try #require(Digest(hex: String(repeating: "07", count: 32)))
    func file(_ kind: StorePath.Kind) -> SignedFile {
      SignedFile(
        path: "\(folder)/\(StorePath.fileName(kind, digest))", length: 1, digest: digest)
    }
    return ContentOffer(
      productIdentifier: product, contentIdentifier: content, version: version, installedSize: 1,
      package: file(.package), index: file(.index))
  }
}

import HostedModel
import HostedPackage
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedStoreAPI
import HostedStoreServer
import HostedShop

/// A store with tiny products, and the data of a store server that has sold them to one account.
struct SampleLedger {
  static let account: AccountID = "buyer"

  let path: String
  let token = OpaqueToken.generate()
  let receiptKey: ReceiptVerificationKey

  private static let perCommit = 500
  private static let version: ContentVersion = "1.0"

  /// Creates both in the new folder at `path`.
  init(_ path: String, purchases: Int, products: Int) throws {
    self.path = path
    let data = try StoreServerFolder("\(path)/data", creating: true)
    let ledger = Ledger(try data.ledgerDatabase())
    receiptKey = try data.receiptKey(of: ledger, at: Date()).verificationKey
    try publish(products)
    defer { ledger.close() }
    try addKey(to: ledger)
    for start in stride(from: 0, to: purchases, by: Self.perCommit) {
      let drafts = try (start..<min(start + Self.perCommit, purchases)).map {
        LedgerChange.purchase(try Self.draft($0, of: Self.product($0 % products)))
      }
      for result in try ledger.commit(drafts, at: Date()) { _ = try result.get() }
    }
  }

  var store: String { "\(path)/store" }

  private static func product(_ number: Int) throws -> ProductIdentifier {
    try ProductIdentifier(validating: "com.example.tiny.p\(number)")
  }

  private func publish(_ count: Int) throws {
    let folder = try FileSystem.real.directory(at: path)
    let packages = try (0..<count).map { number in
      let source = "\(path)/source/\(number)/Contents"
      try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
      try Data("The text of \(number)\n".utf8).write(to: URL(filePath: "\(source)/text"))
      _ = try buildPackage(
        folder: FileSystem.real.directory(at: "\(path)/source/\(number)"), output: folder,
        outputName: "\(number).pkg", productIdentifier: Self.product(number),
        version: Self.version)
      return "\(path)/\(number).pkg"
    }
    try StoreFolder.create(at: store).publish(packages)
  }

  private func addKey(to ledger: Ledger) throws {
    guard let digest = try OpaqueToken.digest(of: token) else { return }
    let kid = "\(APIKey.prefix)restore"
    _ = try ledger.add(
      APIKey(
        kid: kid, account: AccountID(rawValue: kid), .token(digest),
        scopes: [.read, .purchase, .content],
        created: Date()))
  }

  private static func draft(_ number: Int, of product: ProductIdentifier) throws -> PurchaseDraft {
    let request = PurchaseRequest(
      transaction: TransactionID(rawValue: "order-\(number)"), account: account,
      productIdentifier: product)
    return PurchaseDraft(
      transaction: request.transaction.rawValue, account: account, product: product, quantity: 1,
      requestDigest: try request.digest, state: .purchased,
      contents: [ContentKey(product, version: version)], isRestorable: true)
  }
}

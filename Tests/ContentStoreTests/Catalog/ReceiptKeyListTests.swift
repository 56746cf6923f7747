import HostedModel
import ContentStore
import HostedTrust
import HostedTestTraits
import HostedTestSupport
import Testing

/// The public keys of sellers in the catalog.
@Suite("Receipt keys of a store", .long)
struct ReceiptKeyListTests {
  private let shop: MaintainedStore
  private let keys: [ReceiptVerificationKey]

  init() throws {
    shop = try MaintainedStore()
    keys = try [KeyKind.ed25519, .ecdsaP256, .ed25519].map {
      try ReceiptVerificationKey(SigningKey.generate($0).publicKey)
    }
  }

  /// The keys that a client sees on `day`.
  private func listed(day: Double) throws -> [ReceiptVerificationKey]? {
    try shop.catalog(shop.client(day: day)).receiptKeys()?.map { try ReceiptVerificationKey($0) }
  }

  private func files() throws -> Set<String> {
    try shop.files().filter { $0.hasSuffix("receipt-keys.json") }
  }

  @Test("Earlier keys stay listed, each once, until they are replaced")
  func add() throws {
    #expect(try listed(day: 0) == nil)
    #expect(try shop.store.receiptKeys().isEmpty)
    #expect(try shop.store.addReceiptKeys([keys[0]], now: shop.at(1)) == [keys[0]])
    #expect(try shop.store.addReceiptKeys(Array(keys[..<2]), now: shop.at(2)) == Array(keys[..<2]))
    #expect(try listed(day: 2) == Array(keys[..<2]))
    #expect(try shop.store.receiptKeys() == Array(keys[..<2]))
    try shop.store.addReceiptKeys([keys[2]], replacing: true, now: shop.at(3))
    #expect(try listed(day: 3) == [keys[2]])
    try shop.fetchAll(shop.client(day: 3))
  }

  @Test("Adding no keys to a store without keys lists nothing")
  func nothing() throws {
    #expect(try shop.store.addReceiptKeys([], now: shop.at(1)).isEmpty)
    #expect(try listed(day: 1) == nil)
    #expect(try files().isEmpty)
  }

  @Test("A listed key publishes nothing, except for a lost file")
  func again() throws {
    try shop.store.addReceiptKeys(keys, now: shop.at(1))
    let before = try shop.fixture.files()
    let file = try #require(try files().first)
    try shop.removeFile(at: file)
    let damages = try shop.store.verify().damages
    #expect(damages.map(\.path) == [file])
    try shop.store.addReceiptKeys([keys[1]], now: shop.at(2))
    #expect(try shop.fixture.files() == before)
    #expect(try files() == [file])
    #expect(try shop.store.verify().damages.isEmpty)
    #expect(try shop.store.status(now: shop.at(2)).missingFiles.isEmpty)
  }

  @Test(
    "Keys stay listed while the catalog grows to bins, and other keys can be added there", .slow)
  func bins() throws {
    try shop.store.addReceiptKeys([keys[0]], now: shop.at(1))
    try shop.addProducts(200, day: 2)
    #expect(try shop.catalog(shop.client(day: 2)).lists.count == 4)
    #expect(try listed(day: 2) == [keys[0]])
    try shop.store.addReceiptKeys([keys[1]], now: shop.at(3))
    #expect(try listed(day: 3) == Array(keys[..<2]))
    try shop.add("product-7", "New title", day: 4)
    #expect(try listed(day: 4) == Array(keys[..<2]))
    #expect(try shop.store.verify().damages.isEmpty)
  }

  @Test("Pruning removes the files of earlier lists only")
  func prune() throws {
    try shop.store.addReceiptKeys([keys[0]], now: shop.at(1))
    let first = try files()
    try shop.store.addReceiptKeys([keys[1]], now: shop.at(2))
    let needed = try shop.needed(by: shop.client(day: 60))
    let pruned = try shop.store.prune(keepDays: 30, now: shop.at(60))
    #expect(pruned.unknown.isEmpty && pruned.obstacle == nil)
    #expect(first.isSubset(of: pruned.files.map(\.path)))
    #expect(try shop.files() == needed)
    #expect(try listed(day: 60) == Array(keys[..<2]))
  }

  @Test("Texts that are not public keys for receipts are refused", .slow)
  func wrong() throws {
    let secret = String(decoding: try SigningKey.generate().pem, as: UTF8.self)
    let rsa = try SigningKey.generate(.rsaPSS).publicKey.pem
    for text in ["", "x", secret, rsa] {
      let error = #expect(throws: ContentError.self) { try ReceiptVerificationKey(pem: text) }
      #expect(error?.code == .keyUnusable)
    }
  }
}

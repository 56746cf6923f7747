import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Tests our store, client and receipts with independent implementations, in both directions.
@Suite(
  "Interoperation", .slow,
  .enabled(if: !SlowTests.areOn || PythonPeers.areHere, PythonPeers.reason),
  .long, .timeLimit(.hang))
struct InteroperationTests {
  @Test("tuf-client reads valid and hostile repositories of the reference implementation")
  func client() throws {
    try PythonPeers.script("client_cases.py", [Tool.program("tuf-client")])
  }

  @Test(
    "The reference client reads our store, with each type of key and after rotations",
    arguments: ["ed25519", "ecdsa", "rsa"])
  func store(type: String) throws {
    let tool = try Tool()
    try tool.succeed(
      "store", "init", "store", "--key-type", type, "--key-counts", "root=3,targets=2",
      "--thresholds", "root=2,targets=2")
    let first = try Data(contentsOf: URL(filePath: tool.folder.path("store/metadata/1.root.json")))
    let package = try tool.makePackage("com.example.book", "1", ["page.txt": Data("words".utf8)])
    try tool.succeed("store", "publish", "store", package, "--title", "Büch \"1\"")
    try tool.write(ReceiptSigningKey.generate(.es256).verificationKey.pem, to: "receipt-key.pem")
    try tool.succeed("store", "receipt-key", "store", "receipt-key.pem")
    try tool.succeed("store", "rotate", "store", "timestamp", "root", "--key-type", type)
    try first.write(to: URL(filePath: tool.folder.path("first.json")))
    let kinds = try readStore(of: tool, ["com.example.book"])
    #expect(
      kinds == [
        "product.json", "content.pkg", "content.index", "receipt-keys.json", "records.jsonl",
      ])
  }

  @Test("The reference client reads our store with hash bins, and each record, archive and index")
  func bins() throws {
    let tool = try Tool.withBook()
    let first = try Data(contentsOf: URL(filePath: tool.folder.path("store/metadata/1.root.json")))
    try first.write(to: URL(filePath: tool.folder.path("first.json")))
    let products = try (0..<130).map {
      try ProductIdentifier(validating: "com.example.product-\($0)")
    }
    let store = try StoreFolder.open(at: tool.folder.path("store"))
    try store.addReceiptKeys([ReceiptSigningKey.generate().verificationKey])
    try store.add(
      Dictionary(uniqueKeysWithValues: products.map { ($0, ProductDetails(title: "Büch \"1\"")) }))
    let names = [Tool.chapter1, Tool.chapter2] + products.map(\.rawValue)
    let expected = [
      "product.json": names.count, "content.pkg": 2, "content.index": 2, "records.jsonl": 4,
      "receipt-keys.json": 1,
    ]
    func counts() throws -> [String: Int] {
      try Dictionary(grouping: readStore(of: tool, names)) { $0 }.mapValues(\.count)
    }
    #expect(try counts() == expected)
    // Bins are signed by the keys of targets.
    try tool.succeed("store", "rotate", "store", "targets")
    #expect(try counts() == expected)
  }

  /// Returns the kinds of the files that the reference client reads, in order, such as
  /// `product.json`.
  private func readStore(of tool: Tool, _ products: [String]) throws -> [String] {
    let output = try PythonPeers.script(
      "read_store.py", [tool.folder.path("store"), tool.folder.path("first.json")] + products)
    return output.split(separator: "\n").map { line in
      // The file names contain the digests that the script has computed.
      let words = line.split(separator: " ")
      let file = words[0].split(separator: "/").last ?? ""
      #expect(file.hasPrefix("\(words[1])."), "\(line)")
      let path = tool.folder.path("store/\(words[0])")
      #expect(FileManager.default.fileExists(atPath: path), "\(path)")
      return file.split(separator: ".").suffix(2).joined(separator: ".")
    }
  }

  static let kinds: [(ReceiptSigningKey.Kind, String)] = [(.ed25519, "EdDSA"), (.es256, "ES256")]

  @Test("Two JOSE libraries verify our receipts, and we verify theirs", arguments: kinds)
  func receipts(kind: ReceiptSigningKey.Kind, algorithm: String) throws {
    let folder = try TemporaryFolder()
    let key = try ReceiptSigningKey.generate(kind)
    try folder.directory.replaceFile("private.pem", with: key.pem, mode: 0o600)
    try folder.directory.replaceFile("public.pem", with: Array(key.verificationKey.pem.utf8))
    let now = Date(timeIntervalSince1970: 1_900_000_000)
    let receipt = Receipt(
      transactionIdentifier: "T2", originalTransactionIdentifier: "T1",
      productIdentifier: ProductIdentifier("com.example.book"),
      contentVersion: ContentVersion("1.10"), accountToken: "añn", quantity: 2,
      purchaseDate: now, originalPurchaseDate: now.addingTimeInterval(-100), signedDate: now,
      expirationDate: now.addingTimeInterval(1000))
    // Several, because one number in 256 begins with a zero byte.
    let ours = try (0..<20).map { _ in try key.sign(receipt) }
    let claims = try PythonPeers.script(
      "receipts.py", ["verify", folder.path("public.pem")], input: ours.joined(separator: "\n"))
    #expect(claims.split(separator: "\n").count == ours.count)
    let read = try #require(
      JSONSerialization.jsonObject(with: Data(claims.split(separator: "\n")[0].utf8))
        as? [String: Any])
    #expect(read["accountToken"] as? String == "añn")
    #expect(read["exp"] as? Int == 1_900_001_000)

    let theirs = try PythonPeers.script(
      "receipts.py", ["sign", folder.path("private.pem"), algorithm], input: claims)
    let verifier = ReceiptVerifier(keys: [key.verificationKey])
    let lines = theirs.split(separator: "\n").map(String.init)
    #expect(lines.count == 2 * ours.count)
    for line in lines {
      #expect(try verifier.verify(line, account: "añn", now: now) == receipt)
    }
  }
}

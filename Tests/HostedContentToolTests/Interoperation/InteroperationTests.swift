import FileIO
import Foundation
import HostedContent
import TestSupport
import TestTraits
import Testing

/// Tests our store, client and receipts with independent implementations, in both directions.
@Suite(
  "Interoperation", .enabled(if: SlowTests.areOn, "Scripts/test --slow runs it"),
  .enabled(if: !SlowTests.areOn || PythonPeers.areHere, PythonPeers.reason),
  .long, .timeLimit(.minutes(10)))
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
    try tool.succeed("store", "rotate", "store", "timestamp", "root", "--key-type", type)
    try first.write(to: URL(filePath: tool.folder.path("first.json")))
    let output = try PythonPeers.script(
      "read_store.py", [tool.folder.path("store"), tool.folder.path("first.json")])
    let lines = output.split(separator: "\n")
    #expect(
      lines.map { $0.split(separator: " ")[0] } == [
        "com.example.book/1/content.index", "com.example.book/1/content.pkg",
        "com.example.book/product.json",
      ])
    // The file names contain the digests that the reference client has computed.
    for line in lines {
      let words = line.split(separator: " ")
      let name = words[0].split(separator: "/")
      let folder = name.dropLast().joined(separator: "/")
      let file = "store/targets/\(folder)/\(words[1]).\(name[name.count - 1])"
      #expect(FileManager.default.fileExists(atPath: tool.folder.path(file)), "\(file)")
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

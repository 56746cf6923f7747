import FoundationEssentials
import HostedContent
import HostedDigests
import HostedModel

enum StoreServerReceiptKeyCommand {
  static let command = Command(
    name: "store-server receipt-key",
    summary: "Lists the keys that sign a ledger's receipts, or adds or retires one.",
    operands: "list|add|retire [FILE]",
    options: [LedgerArguments.data, LedgerArguments.database, .json],
    example: "hostedcontent store-server receipt-key add data/receipt-key.pub.pem --data data"
  ) { arguments, console in
    let action = arguments.operands[0]
    let path = arguments.operands.dropFirst().first
    guard ["list", "add", "retire"].contains(action) else {
      throw arguments.wrong("Unknown action “\(action)”, expected list, add or retire")
    }
    guard (action == "list") == (path == nil) else {
      throw arguments.wrong("\(action) takes \(path == nil ? "a FILE" : "no FILE")")
    }
    let ledger = try arguments.ledger(creating: false)
    defer { ledger.close() }
    if let path {
      let digest = try digest(ofKeyAt: path)
      if action == "add" {
        try ledger.addReceiptKey(digest, at: Date())
      } else if try !ledger.retireReceiptKey(digest, at: Date()) {
        throw ContentError(
          .keyUnusable, "The key in \(path) is not in use",
          remedy: "List the keys with hostedcontent store-server receipt-key list", subject: path)
      }
    }
    let keys = try ledger.receiptKeys().filter { $0.retired == nil }.map(\.digest.hex)
    try console.print(["keys": keys]) {
      if path == nil {
        console.print(document: keys.isEmpty ? "No receipt keys." : keys.joined(separator: "\n"))
      } else {
        console.print("\(Console.count(keys.count, "receipt key")) in use")
      }
    }
    return .done
  }

  /// The SHA-256 of the public key in a file.
  private static func digest(ofKeyAt path: String) throws -> Digest {
    let text = String(decoding: try SecretFile.contents(path), as: UTF8.self)
    guard let key = try? ReceiptVerificationKey(pem: text) else {
      throw ContentError(
        .keyUnusable, "\(path) is not a public key of type Ed25519 or ECDSA P-256 in PEM form",
        remedy: "Give receipt-key.pub.pem of the server's data folder", subject: path)
    }
    return try Digest(of: Array(key.pem.utf8))
  }
}

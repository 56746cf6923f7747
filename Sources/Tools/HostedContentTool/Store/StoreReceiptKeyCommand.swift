import ContentStore

enum StoreReceiptKeyCommand {
  static let command = Command(
    name: "store receipt-key",
    summary: "Signs the public keys of sellers, with which clients verify receipts.",
    operands: "STORE [FILE…]",
    options: [
      .init("--replace", nil, "list only these keys, such as after a theft"), .json,
    ] + StoreKeyArguments.options,
    example: "hostedcontent store receipt-key store data/receipt-key.pub.pem"
  ) { arguments, console in
    let keys = try arguments.operands.dropFirst().enumerated().map { number, path in
      let text = String(decoding: try SecretFile.contents(path), as: UTF8.self)
      guard let key = try? ReceiptVerificationKey(pem: text) else {
        throw ContentError(
          .usage,
          "Key \(number + 1) is not a public key of type Ed25519 or ECDSA P-256 in PEM form",
          remedy: "Use the seller's public key, such as receipt-key.pub.pem of a store server")
      }
      return key
    }
    if keys.isEmpty, arguments.has("--replace") {
      throw arguments.wrong("--replace needs a public key")
    }
    let store = try arguments.openedStore()
    let listed =
      try keys.isEmpty
      ? store.receiptKeys() : store.addReceiptKeys(keys, replacing: arguments.has("--replace"))
    let all = listed.map(\.pem)
    try console.print(["keys": all]) {
      if keys.isEmpty {
        let text = String(all.joined().dropLast())
        console.print(document: all.isEmpty ? "The store lists no receipt keys." : text)
      } else {
        console.print("\(Console.count(all.count, "receipt key")) listed")
      }
    }
    return .done
  }
}

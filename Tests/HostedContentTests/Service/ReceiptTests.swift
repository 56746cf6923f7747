import HostedModel
import HostedTrust
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Verifying receipts")
struct ReceiptTests {
  private let signing: SigningKey
  private let key: ReceiptSigningKey
  private let verifier: ReceiptVerifier
  private let now = Date(timeIntervalSince1970: 1_900_000_000)

  init() throws {
    signing = try SigningKey.generate()
    key = try ReceiptSigningKey(pem: signing.pem)
    verifier = ReceiptVerifier(keys: [key.verificationKey])
  }

  private func receipt(_ account: AccountID? = "ann", signed: Date? = nil, expires: Date? = nil)
    throws
    -> Receipt
  {
    Receipt(
      transactionIdentifier: "T1", productIdentifier: ProductIdentifier("book"),
      contentVersion: ContentVersion("1.2"), accountToken: account, purchaseDate: now,
      signedDate: signed ?? now, expirationDate: expires)
  }

  private func claims() throws -> [String: JSONValue] {
    let parts = try key.sign(receipt()).split(separator: ".")
    let bytes = try #require(Base64URL.bytes(of: parts[1]))
    guard case .object(let members) = try JSONValue(parsing: bytes) else { return [:] }
    return members
  }

  /// Returns a token of these texts, signed with `signing` or another key.
  private func token(_ header: String, _ payload: String, _ other: SigningKey? = nil) throws
    -> String
  {
    let message =
      Base64URL.text(of: Array(header.utf8)) + "." + Base64URL.text(of: Array(payload.utf8))
    let signature = try (other ?? signing).sign(Array(message.utf8))
    return "\(message).\(Base64URL.text(of: signature))"
  }

  private func token(claims: [String: JSONValue]) throws -> String {
    let payload = String(decoding: JSONValue.object(claims).encoded, as: UTF8.self)
    return try token(#"{"alg":"EdDSA","typ":"receipt+jwt"}"#, payload)
  }

  private func refusal(_ token: String, account: AccountID? = "ann") -> ContentError? {
    do {
      _ = try verifier.verify(token, account: account, now: now)
      return nil
    } catch {
      return error as? ContentError
    }
  }

  @Test("Signed receipts are read back with both kinds of keys, from memory and from PEM")
  func good() throws {
    for kind in [ReceiptSigningKey.Kind.ed25519, .es256] {
      let key = try ReceiptSigningKey(pem: ReceiptSigningKey.generate(kind).pem)
      let known = try ReceiptVerificationKey(pem: key.verificationKey.pem)
      let verifier = ReceiptVerifier(keys: [self.key.verificationKey, known])
      for account: AccountID? in ["ann", nil] {
        let receipt = try receipt(account)
        #expect(try verifier.verify(key.sign(receipt), account: account, now: now) == receipt)
      }
    }
  }

  @Test("A key that cannot sign receipts is refused when it is read", .slow)
  func wrongKind() throws {
    let rsa = try SigningKey.generate(.rsaPSS)
    #expect(throws: ContentError.self) { try ReceiptSigningKey(pem: rsa.pem) }
    #expect(throws: ContentError.self) { try ReceiptVerificationKey(pem: rsa.publicKey.pem) }
    #expect(throws: ContentError.self) { try ReceiptVerificationKey(pem: "") }
  }

  @Test(
    "An algorithm that does not match the key is refused, even with a valid signature",
    arguments: ["none", "None", "HS256", "ES256", "RS256", "PS256", "eddsa", ""])
  func algorithmConfusion(algorithm: String) throws {
    let payload = String(decoding: JSONValue.object(try claims()).encoded, as: UTF8.self)
    let signed = try token(#"{"alg":"\#(algorithm)"}"#, payload)
    #expect(refusal(signed)?.code == .receiptInvalid)
    let unsigned = signed[...(signed.lastIndex(of: ".") ?? signed.endIndex)]
    #expect(refusal(String(unsigned))?.code == .receiptInvalid)
  }

  @Test(
    "A header without algorithm, with critical extensions or with its own key is refused",
    arguments: [
      "{}", #"{"alg":null}"#, #"{"alg":["EdDSA"]}"#, #"{"alg":"EdDSA","crit":["exp"]}"#,
      #"{"alg":"EdDSA","jwk":{}}"#, #"{"alg":"EdDSA","jku":"https://a"}"#,
      #"{"alg":"EdDSA","x5c":[]}"#, #"{"alg":"EdDSA","alg":"EdDSA"}"#, #"{"alg":"EdDSA"} x"#, "[]",
      "", #"{"alg":"none","alg":"EdDSA"}"#,
    ])
  func header(text: String) throws {
    let payload = String(decoding: JSONValue.object(try claims()).encoded, as: UTF8.self)
    // All have the right type, so that something else is refused.
    let header = text.replacingOccurrences(of: #"{"alg"#, with: #"{"typ":"receipt+jwt","alg"#)
    #expect(refusal(try token(header, payload))?.code == .receiptInvalid)
  }

  @Test("Another signer and changed content are refused")
  func signature() throws {
    let payload = String(decoding: JSONValue.object(try claims()).encoded, as: UTF8.self)
    let header = #"{"alg":"EdDSA","typ":"receipt+jwt"}"#
    #expect(refusal(try token(header, payload)) == nil)
    for other in [#"{"alg":"EdDSA","typ":"JWT"}"#, #"{"alg":"EdDSA"}"#] {
      #expect(refusal(try token(other, payload))?.message.contains("typ") == true)
    }
    #expect(refusal(try token(header, payload, SigningKey.generate()))?.code == .receiptInvalid)
    let good = try token(header, payload).split(separator: ".")
    let other = Base64URL.text(
      of: JSONValue.object(try claims().merging(["quantity": .integer(2)]) { $1 }).encoded)
    #expect(refusal("\(good[0]).\(other).\(good[2])")?.code == .receiptInvalid)
    #expect(ReceiptVerifier(keys: []).isRefusing(try token(header, payload), now))
  }

  @Test("A receipt of another account, an expired one and one from the future are refused")
  func valid() throws {
    let anns = try key.sign(receipt("ann"))
    #expect(refusal(anns, account: "joe")?.message.contains("another account") == true)
    #expect(refusal(anns, account: nil)?.code == .receiptInvalid)
    #expect(refusal(try key.sign(receipt(nil)), account: "ann")?.code == .receiptInvalid)
    let expired = try key.sign(receipt(expires: now))
    #expect(refusal(expired)?.message.contains("expired") == true)
    let soon = now.addingTimeInterval(1)
    #expect(refusal(try key.sign(receipt(expires: soon))) == nil)
    let early = try receipt(signed: now.addingTimeInterval(301), expires: soon)
    #expect(refusal(try key.sign(early))?.code == .receiptInvalid)
    let signed = try receipt(signed: now.addingTimeInterval(299), expires: soon)
    #expect(refusal(try key.sign(signed)) == nil)
  }

  @Test("A receipt that no verifier would accept is not signed")
  func unsignable() throws {
    func receipt(_ id: String = "T1", quantity: Int = 1, expires: Date? = nil) -> Receipt {
      Receipt(
        transactionIdentifier: id, productIdentifier: "book", quantity: quantity, purchaseDate: now,
        signedDate: now, expirationDate: expires)
    }
    let seconds: [TimeInterval] = [-1, 253_402_300_800, .infinity, -.infinity, .nan]
    let quantities: [Int] = [0, 11, .max, .min]
    var refused = [receipt(""), receipt(String(repeating: "a", count: 257))]
    refused += seconds.map { receipt(expires: Date(timeIntervalSince1970: $0)) }
    refused += quantities.map { receipt(quantity: $0) }
    for receipt in refused {
      let error = #expect(throws: ContentError.self) { try key.sign(receipt) }
      #expect(error?.code == .receiptInvalid)
    }
    let last = receipt(
      String(repeating: "a", count: 256), quantity: 10,
      expires: Date(timeIntervalSince1970: 253_402_300_799))
    #expect(try verifier.verify(key.sign(last), account: nil, now: now) == last)
  }

  @Test("The account of a receipt is compared byte by byte")
  func accountBytes() throws {
    let renes = try key.sign(receipt("ren\u{e9}"))
    #expect(refusal(renes, account: "ren\u{e9}") == nil)
    #expect(refusal(renes, account: "rene\u{301}")?.message.contains("another account") == true)
  }

  @Test(
    "Missing and invalid claims are refused",
    arguments: [
      ("transactionIdentifier", nil), ("transactionIdentifier", JSONValue.string("")),
      ("transactionIdentifier", .integer(1)), ("productIdentifier", .string("a/b")),
      ("productIdentifier", nil), ("contentVersion", .string("x")), ("accountToken", .integer(1)),
      ("quantity", .integer(0)), ("quantity", .integer(11)), ("quantity", .string("1")),
      ("purchaseDate", nil), ("purchaseDate", .string("2030")), ("exp", .string("never")),
      ("exp", .integer(-1)), ("iat", .integer(.max)),
      ("originalTransactionIdentifier", .string(String(repeating: "a", count: 257))),
    ])
  func claims(name: String, value: JSONValue?) throws {
    var claims = try claims()
    claims[name] = value
    #expect(refusal(try token(claims: claims))?.code == .receiptInvalid)
  }

  @Test("Duplicate members, fractions and non-objects are refused even if signed")
  func payload() throws {
    let good = String(decoding: JSONValue.object(try claims()).encoded, as: UTF8.self)
    for payload in [
      #"{"accountToken":"joe","# + good.dropFirst(), "[" + good + "]", good + good, "", "null",
      #"{"iat":1.5,"# + good.dropFirst(),
    ] {
      #expect(
        refusal(try token(#"{"alg":"EdDSA","typ":"receipt+jwt"}"#, payload))?.code
          == .receiptInvalid, "\(payload)")
    }
  }

  @Test("Only the canonical compact form is accepted")
  func form() throws {
    let good = try key.sign(receipt())
    let long = try token(
      claims: claims().merging(["x": .string(String(repeating: "a", count: 16384))]) { $1 })
    for text in [
      "", ".", "..", good + ".", good + "=", " " + good, good + "\n", String(good.dropLast()),
      good.replacingOccurrences(of: ".", with: ".="), "a" + good, good + "A", long,
      good.split(separator: ".").prefix(2).joined(separator: "."),
    ] {
      #expect(refusal(text)?.code == .receiptInvalid, "\(text.prefix(40))")
    }
    // The last digit of 64 bytes has four unused bits, which must be zero.
    let last = try #require(good.last)
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let index = try #require(alphabet.firstIndex(of: last))
    #expect(refusal(good.dropLast() + String(alphabet[index + 1]))?.code == .receiptInvalid)
  }
}

extension ReceiptVerifier {
  fileprivate func isRefusing(_ token: String, _ now: Date) -> Bool {
    (try? verify(token, account: "ann", now: now)) == nil
  }
}

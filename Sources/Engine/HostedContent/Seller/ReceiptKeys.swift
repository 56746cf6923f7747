import ContentModel
import ContentTrust
public import FoundationEssentials

/// A seller's key that signs receipts; may be used from any thread.
public struct ReceiptSigningKey: Sendable {
  private let key: SigningKey

  /// The kinds of keys that sign receipts.
  public enum Kind: Sendable {
    /// Ed25519 (RFC 8037), the usual choice.
    case ed25519
    /// ECDSA over P-256 with SHA-256 (RFC 7518).
    case es256
  }

  /// Makes a new key; keep its `pem` in a file that only the seller can read.
  public static func generate(_ kind: Kind = .ed25519) throws -> ReceiptSigningKey {
    ReceiptSigningKey(try SigningKey.generate(kind == .ed25519 ? .ed25519 : .ecdsaP256))
  }

  private init(_ key: SigningKey) { self.key = key }

  /// Reads a private key in PEM form, such as `openssl genpkey -algorithm ed25519` writes.
  ///
  /// Throws `keyUnusable` for other kinds than Ed25519 and P-256, and for a wrong passphrase.
  public init(pem: [UInt8], passphrase: [UInt8]? = nil) throws {
    key = try SigningKey(pem: pem, passphrase: passphrase)
    _ = try ReceiptVerificationKey(key.publicKey)
  }

  /// The key in PEM form (PKCS#8), not encrypted.
  public var pem: [UInt8] { get throws { try key.pem } }

  /// The half that verifies, which anybody may have.
  public var verificationKey: ReceiptVerificationKey {
    ReceiptVerificationKey(unchecked: key.publicKey)
  }

  /// Signs `receipt`, in compact form.
  public func sign(_ receipt: Receipt) throws -> String {
    try JSONWebSignature.sign(receipt.claims, as: Receipt.type, with: key)
  }
}

/// The public half of a seller's key, which verifies receipts.
public struct ReceiptVerificationKey: Hashable, Sendable {
  let key: PublicKey

  /// Reads a public key in PEM form; `keyUnusable` for other kinds than Ed25519 and P-256.
  public init(pem: String) throws {
    guard let key = PublicKey(pem: pem) else { throw Self.unusable }
    try self.init(key)
  }

  init(_ key: PublicKey) throws {
    guard SignatureAlgorithm(key.kind) != nil else { throw Self.unusable }
    self.key = key
  }

  fileprivate init(unchecked key: PublicKey) { self.key = key }

  private static var unusable: ContentError {
    ContentError(
      .keyUnusable,
      "The key is not an Ed25519 or ECDSA P-256 (named curve, uncompressed) key in PEM form",
      remedy: "Use the public half of the seller's receipt key")
  }

  /// The key in PEM form.
  public var pem: String { key.pem }
}

/// Checks sellers' receipts; may be used from any thread.
public struct ReceiptVerifier: Sendable {
  private let keys: [ReceiptVerificationKey]

  /// Creates a verifier that trusts these keys: the seller's, and earlier ones whose receipts still
  /// count.
  public init(keys: [ReceiptVerificationKey]) { self.keys = keys }

  /// What `receipt` says, if it was signed by one of the keys, for `account`, and is valid at
  /// `now`.
  ///
  /// Throws `receiptInvalid`, with the reason, for everything else: another algorithm than the
  /// key's, `none` among them, another signer, another `typ` than `receipt+jwt`, another account,
  /// an expired receipt, one of the future (by more than five minutes, which clocks may differ),
  /// and anything that is not well-formed. It does not know which receipts were shown before:
  /// compare `transactionIdentifier`.
  public func verify(_ receipt: String, account: String?, now: Date = Date()) throws -> Receipt {
    let found = try verifySignature(receipt)
    guard found.accountToken == account else {
      throw ContentError.refusedReceipt("it was made out to another account")
    }
    if let end = found.expirationDate, end <= now {
      throw ContentError.refusedReceipt("it expired at \(end.formatted(.iso8601))")
    }
    guard found.signedDate <= now.addingTimeInterval(300) else {
      throw ContentError.refusedReceipt("it was signed after now, \(now.formatted(.iso8601))")
    }
    return found
  }

  private func verifySignature(_ text: String) throws -> Receipt {
    let signature = try JSONWebSignature(text)
    var refusal = ContentError.refusedReceipt("no key is known that could have signed it")
    for key in keys {
      let claims: JSONValue
      do {
        claims = try signature.claims(verifiedBy: key.key)
      } catch let error as ContentError where error.code == .receiptInvalid {
        refusal = error
        continue
      }
      guard signature.isOfType(Receipt.type) else {
        throw ContentError.refusedReceipt("the typ of its header is not \(Receipt.type)")
      }
      return try Receipt(claims: claims)
    }
    throw refusal
  }
}

extension ReceiptVerifier {
  /// Throws `receiptInvalid` unless the receipt of `grant` says what `grant` says.
  func check(_ grant: Grant, now: Date) throws {
    guard let text = grant.receipt else {
      throw ContentError.refusedReceipt("there is none")
    }
    let receipt = try verify(text, account: grant.payment.applicationUsername, now: now)
    guard receipt.transactionIdentifier == grant.transactionIdentifier,
      receipt.productIdentifier == grant.payment.productIdentifier,
      receipt.quantity == grant.payment.quantity
    else { throw ContentError.refusedReceipt("it belongs to another purchase") }
  }
}

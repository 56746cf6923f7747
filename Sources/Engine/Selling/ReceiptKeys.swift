public import HostedModel
public import HostedTrust
public import FoundationEssentials

/// A seller's private key for signing receipts; may be used from any thread.
public struct ReceiptSigningKey: Sendable {
  private let key: SigningKey

  /// The supported kinds of keys.
  public enum Kind: Sendable {
    /// Ed25519 (RFC 8037), the usual choice.
    case ed25519
    /// ECDSA over P-256 with SHA-256 (RFC 7518).
    case es256
  }

  /// Generates a key; store its `pem` in a file that only the seller can read.
  public static func generate(_ kind: Kind = .ed25519) throws -> ReceiptSigningKey {
    ReceiptSigningKey(try SigningKey.generate(kind == .ed25519 ? .ed25519 : .ecdsaP256))
  }

  private init(_ key: SigningKey) { self.key = key }

  /// Reads a private key in PEM form, such as from `openssl genpkey -algorithm ed25519`.
  ///
  /// Throws `keyUnusable` if the key is not Ed25519 or P-256, or if the passphrase is wrong.
  public init(pem: [UInt8], passphrase: [UInt8]? = nil) throws {
    key = try SigningKey(pem: pem, passphrase: passphrase)
    _ = try ReceiptVerificationKey(key.publicKey)
  }

  /// The key in PEM form (PKCS#8), not encrypted.
  public var pem: [UInt8] { get throws { try key.pem } }

  /// The public key, which is not secret.
  public var verificationKey: ReceiptVerificationKey {
    ReceiptVerificationKey(unchecked: key.publicKey)
  }

  /// Signs `receipt`, in compact form.
  ///
  /// Throws `receiptInvalid` for a receipt that no verifier would accept: a text is longer than 256
  /// bytes, the transaction identifier is empty, the quantity is not 1 to 10, or a date is not in
  /// the years 1970 to 9999.
  public func sign(_ receipt: Receipt) throws -> String {
    let claims = receipt.claims
    _ = try Receipt(claims: claims)
    return try JSONWebSignature.sign(claims, as: Receipt.type, with: key)
  }
}

/// Verifies receipts; may be used from any thread.
public struct ReceiptVerifier: Sendable {
  private let keys: [ReceiptVerificationKey]

  /// Creates a verifier that trusts these keys, such as a current and an earlier key.
  public init(keys: [ReceiptVerificationKey]) { self.keys = keys }

  /// Returns the content of `receipt` if it is valid at `now` for `account`.
  ///
  /// Throws `receiptInvalid`, with the reason, if no key verifies the signature, the algorithm is
  /// not the key's (`none` included), the `typ` is not `receipt+jwt`, the account differs, the
  /// receipt has expired or is malformed, or it was signed more than five minutes in the future,
  /// which allows for clock differences. It does not detect receipts that were presented before:
  /// compare `transactionIdentifier`.
  public func verify(_ receipt: String, account: AccountID?, now: Date = Date()) throws -> Receipt {
    let found = try verifySignature(receipt)
    guard found.accountToken == account else {
      throw ContentError.receiptInvalid("it is for another account")
    }
    if let end = found.expirationDate, end <= now {
      throw ContentError.receiptInvalid("it expired at \(end.formatted(.iso8601))")
    }
    guard found.signedDate <= now.addingTimeInterval(300) else {
      throw ContentError.receiptInvalid("it is dated after now, \(now.formatted(.iso8601))")
    }
    return found
  }

  private func verifySignature(_ text: String) throws -> Receipt {
    let signature = try JSONWebSignature(text)
    var refusal = ContentError.receiptInvalid("no trusted key verifies it")
    for key in keys {
      let claims: JSONValue
      do {
        claims = try signature.claims(verifiedBy: key.key)
      } catch let error as ContentError where error.code == .receiptInvalid {
        refusal = error
        continue
      }
      guard signature.isOfType(Receipt.type) else {
        throw ContentError.receiptInvalid("the typ of its header is not \(Receipt.type)")
      }
      return try Receipt(claims: claims)
    }
    throw refusal
  }
}

extension ReceiptVerifier {
  /// Throws `receiptInvalid` unless the receipt of `grant` matches it.
  ///
  /// `ownAccount` is the account in receipts for grants without an account; usually nil.
  package func check(_ grant: Grant, ownAccount: AccountID?, now: Date) throws {
    guard let text = grant.receipt else {
      throw ContentError.receiptInvalid("it is missing")
    }
    let receipt = try verify(
      text, account: grant.payment.applicationUsername ?? ownAccount, now: now)
    guard receipt.transactionIdentifier.hasSameBytes(as: grant.transactionIdentifier),
      receipt.productIdentifier == grant.payment.productIdentifier,
      receipt.quantity == grant.payment.quantity
    else { throw ContentError.receiptInvalid("it is for another purchase") }
  }
}

extension ReceiptSigningKey: CustomStringConvertible {
  /// The text `private key`, because the key is secret.
  public var description: String { "private key" }
}

extension ReceiptSigningKey.Kind: CustomStringConvertible {
  /// The name of the kind.
  public var description: String {
    switch self {
    case .ed25519: "ed25519"
    case .es256: "es256"
    }
  }
}

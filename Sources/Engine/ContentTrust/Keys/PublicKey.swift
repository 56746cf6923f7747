import CCrypto
import ContentModel
import Digests

/// A public key that signatures of metadata and receipts are checked with.
///
/// Two are equal when they are the same key, whatever their objects in metadata say besides.
package struct PublicKey: Sendable {
  /// What the key is for.
  package let kind: KeyKind
  /// The 32 bytes of an Ed25519 key, the SubjectPublicKeyInfo of any other.
  package let bytes: [UInt8]
  /// The key in PEM form (SubjectPublicKeyInfo).
  package let pem: String
  private let key: CryptoKey

  /// Longest public key that is read, in characters or bytes.
  static let maximumLength = 8192
  private static let headOfEd25519 = Hexadecimal.bytes(of: "302a300506032b6570032100") ?? []
  private static let headOfP256 =
    Hexadecimal.bytes(of: "3059301306072a8648ce3d020106082a8648ce3d030107034200") ?? []

  /// Takes the 32 bytes of an Ed25519 key; nil for any other count.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 32, let key = CryptoKey(publicDER: Self.headOfEd25519 + bytes) else {
      return nil
    }
    self.init(key)
  }

  /// Reads PEM text; nil for anything but a key of a kind that signs here.
  package init?(pem text: String) {
    guard text.utf8.count <= Self.maximumLength, let key = CryptoKey(publicPEM: text) else {
      return nil
    }
    self.init(key)
  }

  /// Takes the public half of `key`; nil for a kind that does not sign here.
  ///
  /// Nil also for a key that is not in the one form that is read: two forms of one key would count
  /// as two keys. libcrypto writes a P-256 key in the form in which it has read it.
  init?(_ key: CryptoKey) {
    guard let kind = key.kind, let encoded = try? key.publicDER, let pem = try? key.publicPEM,
      Self.isUnique(encoded, kind)
    else { return nil }
    self.kind = kind
    self.pem = pem
    self.key = key
    bytes = kind == .ed25519 ? Array(encoded.suffix(32)) : encoded
  }

  /// Whether a key that libcrypto writes as `encoded` has no other encoding.
  private static func isUnique(_ encoded: [UInt8], _ kind: KeyKind) -> Bool {
    switch kind {
    case .ed25519: Ed25519Point.isUsable(encoded.suffix(32))
    // An uncompressed point of the named curve; libcrypto takes no number beyond the field's prime.
    case .ecdsaP256: encoded.count == 91 && encoded.starts(with: headOfP256 + [4])
    // libcrypto writes both numbers anew; the kind has one exponent only.
    case .rsaPSS: true
    }
  }

  /// Reads the key object of metadata; nil for another kind of key, which we cannot check.
  ///
  /// `ecdsa-sha2-nistp256` as a type, and the point in hexadecimal digits, are older spellings.
  init?(json: JSONValue) {
    guard let type = json["keytype"]?.string, let scheme = json["scheme"]?.string,
      let text = json["keyval"]?["public"]?.string, text.utf8.count <= Self.maximumLength
    else { return nil }
    switch (type, scheme) {
    case ("ed25519", KeyKind.ed25519.scheme):
      guard let bytes = Hexadecimal.bytes(of: text) else { return nil }
      self.init(bytes: bytes)
    case ("ecdsa", KeyKind.ecdsaP256.scheme), ("ecdsa-sha2-nistp256", KeyKind.ecdsaP256.scheme):
      self.init(text, orPoint: Self.headOfP256, of: .ecdsaP256)
    case ("rsa", KeyKind.rsaPSS.scheme):
      self.init(text, orPoint: nil, of: .rsaPSS)
    default: return nil
    }
  }

  private init?(_ text: String, orPoint head: [UInt8]?, of kind: KeyKind) {
    let point = head.flatMap { head in Hexadecimal.bytes(of: text).map { head + $0 } }
    guard let key = point.map(CryptoKey.init(publicDER:)) ?? CryptoKey(publicPEM: text) else {
      return nil
    }
    self.init(key)
    guard self.kind == kind else { return nil }
  }

  /// The key object of metadata.
  package var json: JSONValue {
    .object([
      "keytype": .string(kind.rawValue), "scheme": .string(kind.scheme),
      "keyval": .object([
        "public": .string(kind == .ed25519 ? Hexadecimal.text(of: bytes) : pem)
      ]),
    ])
  }

  /// The key's identifier: the SHA-256 of the canonical form of its object.
  package var identifier: String { get throws { try Digest(of: json.canonical).hex } }

  /// Whether `signature` is this key's over `message`; false also when it is no signature at all.
  ///
  /// An ECDSA signature is in DER form. The corresponding C function is EVP_DigestVerify.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) throws -> Bool {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    // A refused signature leaves its reason in the thread's queue, where it would be taken for the
    // reason of the next failure.
    defer { ERR_clear_error() }
    // Whatever length the salt has, it is part of what is verified.
    let isReady = kind.prepare(context, saltLength: RSA_PSS_SALTLEN_AUTO) {
      EVP_DigestVerifyInit(context, $0, $1, nil, key.handle)
    }
    guard isReady else { throw ContentError.crypto("EVP_DigestVerifyInit") }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}

extension PublicKey: Hashable {
  package static func == (left: PublicKey, right: PublicKey) -> Bool {
    left.kind == right.kind && left.bytes == right.bytes
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

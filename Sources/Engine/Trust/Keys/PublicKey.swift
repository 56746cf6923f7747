import FoundationEssentials
import HostedCCrypto
import HostedDigests
package import HostedModel

/// A public key that verifies signatures of metadata and receipts.
///
/// Two values are equal if they are the same key, even if their objects in metadata differ.
package struct PublicKey: Hashable, Sendable {
  package let kind: KeyKind
  /// The 32 bytes of an Ed25519 key; the SubjectPublicKeyInfo of any other key.
  package let bytes: [UInt8]
  /// The key in PEM form (SubjectPublicKeyInfo).
  package let pem: String
  /// The key's identifier: the SHA-256 of the canonical form of its object.
  package let identifier: String
  private let key: CryptoKey

  /// The maximum length of a public key, in characters or bytes.
  static let maximumLength = 8192
  private static let headOfEd25519 = Hexadecimal.bytes(of: "302a300506032b6570032100") ?? []
  private static let headOfP256 =
    Hexadecimal.bytes(of: "3059301306072a8648ce3d020106082a8648ce3d030107034200") ?? []

  /// Creates a key from the 32 bytes of an Ed25519 key; nil for any other length.
  package init?(bytes: [UInt8]) {
    guard let key = CryptoKey(ed25519: bytes) else { return nil }
    self.init(key)
  }

  /// Reads PEM text; returns nil unless it is a key of a supported kind.
  package init?(pem text: String) {
    guard text.utf8.count <= Self.maximumLength, let key = CryptoKey(publicPEM: text) else {
      return nil
    }
    self.init(key)
  }

  /// Creates the public half of `key`; nil for unsupported kinds.
  ///
  /// Also returns nil for a key that is not in canonical form: two forms of one key would count as
  /// two keys. libcrypto writes a P-256 key in the form in which it was read.
  init?(_ key: CryptoKey) {
    guard let kind = key.kind,
      let bytes = try? kind == .ed25519 ? key.ed25519Bytes : key.publicDER,
      Self.isUnique(bytes, kind),
      let pem = try? kind == .ed25519 ? Self.pem(ofEd25519: bytes) : key.publicPEM
    else { return nil }
    guard let digest = try? Digest(of: Self.json(kind, bytes, pem).canonical) else { return nil }
    self.kind = kind
    self.pem = pem
    self.key = key
    self.bytes = bytes
    identifier = digest.hex
  }

  /// Returns what libcrypto writes, in a fraction of the time (RFC 8410).
  private static func pem(ofEd25519 bytes: [UInt8]) -> String {
    let text = Data(headOfEd25519 + bytes).base64EncodedString()
    return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
  }

  /// Whether a key that libcrypto encodes as `encoded` has no other encoding.
  private static func isUnique(_ encoded: [UInt8], _ kind: KeyKind) -> Bool {
    switch kind {
    case .ed25519: Ed25519Point.isUsable(encoded)
    // An uncompressed point of the named curve. libcrypto refuses numbers above the field's prime.
    case .ecdsaP256: encoded.count == 91 && encoded.starts(with: headOfP256 + [4])
    // libcrypto re-encodes both numbers, and the exponent is fixed.
    case .rsaPSS: true
    }
  }

  /// Reads the key object of metadata; returns nil for unsupported kinds.
  ///
  /// Also accepts older spellings: the type `ecdsa-sha2-nistp256`, and the point in hexadecimal
  /// digits.
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

  /// The key object in metadata.
  package var json: JSONValue { Self.json(kind, bytes, pem) }

  private static func json(_ kind: KeyKind, _ bytes: [UInt8], _ pem: String) -> JSONValue {
    .object([
      "keytype": .string(kind.rawValue), "scheme": .string(kind.scheme),
      "keyval": .object([
        "public": .string(kind == .ed25519 ? Hexadecimal.text(of: bytes) : pem)
      ]),
    ])
  }

  /// Whether `signature` is a signature of `message` by this key; false if it is malformed.
  ///
  /// An ECDSA signature is in DER form. The C function is EVP_DigestVerify.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) throws -> Bool {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    // A failed verification leaves an error in the thread's queue, where a later failure would
    // report it.
    defer { ERR_clear_error() }
    // The salt may have any length; the signature covers it.
    let isReady = kind.prepare(context, saltLength: RSA_PSS_SALTLEN_AUTO) {
      EVP_DigestVerifyInit(context, $0, $1, nil, key.handle)
    }
    guard isReady else { throw ContentError.crypto("EVP_DigestVerifyInit") }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  package static func == (left: PublicKey, right: PublicKey) -> Bool {
    left.kind == right.kind && left.bytes == right.bytes
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// The rules for public keys of Ed25519 that libcrypto does not check (RFC 8032, section 5.1.3).
private enum Ed25519Point {
  /// The prime 2^255 - 19, least significant byte first, as in a key.
  private static let prime: [UInt8] = [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f]
  /// The y coordinates of the eight points of small order, for which anyone can forge signatures.
  private static let smallOrder = Set(
    [
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ].compactMap(Hexadecimal.bytes(of:)))

  /// Whether the 32 bytes of `key` are the canonical encoding of a point that is not of small
  /// order.
  static func isUsable(_ key: [UInt8]) -> Bool {
    guard let last = key.last else { return false }
    // The highest bit is the sign of x. Only two points of small order are equal for both signs.
    let y: [UInt8] = key.dropLast() + [last & 0x7f]
    return y.reversed().lexicographicallyPrecedes(prime.reversed()) && !smallOrder.contains(y)
  }
}

import HostedCCrypto
import HostedModel
import HostedDigests

/// A key pair that signs; the private half stays in libcrypto's memory.
package final class SigningKey: Sendable {
  private let key: CryptoKey
  package let publicKey: PublicKey

  private init(_ key: CryptoKey?) throws {
    defer { ERR_clear_error() }
    guard let key, let publicKey = PublicKey(key) else {
      throw ContentError(
        .keyUnusable,
        "The key is not an Ed25519, ECDSA P-256 (named curve, uncompressed) or RSA key "
          + "(2048 to 8192 bits, exponent 65537)",
        remedy: "Use a key of one of these types")
    }
    self.key = key
    self.publicKey = publicKey
  }

  /// Generates a key with libcrypto's random numbers; an RSA key has 3072 bits.
  package static func generate(_ kind: KeyKind = .ed25519) throws -> SigningKey {
    let handle =
      switch kind {
      case .ed25519: try made(EVP_PKEY_ED25519) { _ in true }
      case .ecdsaP256:
        try made(EVP_PKEY_EC) {
          EVP_PKEY_CTX_set_ec_paramgen_curve_nid($0, NID_X9_62_prime256v1) == 1
        }
      case .rsaPSS: try made(EVP_PKEY_RSA) { EVP_PKEY_CTX_set_rsa_keygen_bits($0, 3072) == 1 }
      }
    return try SigningKey(CryptoKey(owning: handle))
  }

  private static func made(_ type: Int32, _ configure: (OpaquePointer?) -> Bool) throws
    -> OpaquePointer?
  {
    let context = CryptoLibrary.isReady ? EVP_PKEY_CTX_new_id(type, nil) : nil
    defer { EVP_PKEY_CTX_free(context) }
    var handle: OpaquePointer?
    guard context != nil, EVP_PKEY_keygen_init(context) == 1, configure(context),
      EVP_PKEY_keygen(context, &handle) == 1
    else { throw ContentError.crypto("EVP_PKEY_keygen") }
    return handle
  }

  /// Reads a private key from PEM text, encrypted or not.
  ///
  /// Throws `keyUnusable` for anything else. Throws `passphraseWrong` if the key is encrypted and
  /// `passphrase` is nil or wrong.
  package convenience init(pem: [UInt8], passphrase: [UInt8]? = nil) throws {
    var secret = (passphrase ?? []) + [0]
    defer { secret.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    let handle = secret.withUnsafeMutableBytes { secret in
      CryptoKey.reading(pem) {
        // Without the callback, libcrypto would ask for a passphrase on the terminal.
        passphrase == nil
          ? PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil)
          : PEM_read_bio_PrivateKey($0, nil, nil, secret.baseAddress)
      }
    }
    // PKCS#8 has the word in its first line, the traditional format in a header.
    if handle == nil, String(decoding: pem, as: UTF8.self).contains("ENCRYPTED") {
      ERR_clear_error()
      throw ContentError(
        .passphraseWrong,
        passphrase == nil ? "The key is encrypted and needs a passphrase" : "Wrong passphrase",
        remedy: "Provide the passphrase of the key")
    }
    try self.init(CryptoKey(owning: handle))
  }

  /// The key in unencrypted PKCS#8 PEM form.
  package var pem: [UInt8] { get throws { try pem(passphrase: nil) } }

  /// The key in PKCS#8 PEM form, encrypted with AES-256 unless `passphrase` is nil.
  package func pem(passphrase: [UInt8]?) throws -> [UInt8] {
    try CryptoKey.text("PEM_write_bio_PKCS8PrivateKey") { memory in
      guard let passphrase else {
        return PEM_write_bio_PKCS8PrivateKey(memory, key.handle, nil, nil, 0, nil, nil)
      }
      return passphrase.withUnsafeBufferPointer { buffer in
        buffer.withMemoryRebound(to: CChar.self) {
          PEM_write_bio_PKCS8PrivateKey(
            memory, key.handle, EVP_aes_256_cbc(), $0.baseAddress, Int32(clamping: $0.count), nil,
            nil)
        }
      }
    }
  }

  /// Returns the signature over `message`: 64 bytes for Ed25519, DER for ECDSA.
  ///
  /// The C function is EVP_DigestSign.
  package func sign(_ message: [UInt8]) throws -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let isReady = publicKey.kind.prepare(context, saltLength: RSA_PSS_SALTLEN_DIGEST) {
      EVP_DigestSignInit(context, $0, $1, nil, key.handle)
    }
    var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key.handle)))
    var count = signature.count
    guard isReady,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1
    else { throw ContentError.crypto("EVP_DigestSign") }
    return Array(signature[..<count])
  }
}

import CCrypto
import ContentModel
import Digests

/// An Ed25519 public key (RFC 8032).
package struct PublicKey: Hashable, Sendable {
  /// The 32 bytes of the key.
  package let bytes: [UInt8]

  /// Takes exactly 32 bytes; nil for any other count.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Reads the key object of root metadata; nil for another kind of key, which we cannot check.
  init?(json: JSONValue) {
    guard json["keytype"]?.string == "ed25519", json["scheme"]?.string == "ed25519",
      let text = json["keyval"]?["public"]?.string, let bytes = Hexadecimal.bytes(of: text)
    else { return nil }
    self.init(bytes: bytes)
  }

  /// The key object of root metadata.
  package var json: JSONValue {
    .object([
      "keytype": .string("ed25519"), "scheme": .string("ed25519"),
      "keyval": .object(["public": .string(Hexadecimal.text(of: bytes))]),
    ])
  }

  /// The key's identifier: the SHA-256 of the canonical form of its object.
  package var identifier: String { get throws { try Digest(of: json.canonical).hex } }

  /// Whether `signature` is this key's over `message`; false also when it is no signature at all.
  ///
  /// The corresponding C function is EVP_DigestVerify.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) throws -> Bool {
    let handle = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
    defer { EVP_PKEY_free(handle) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    // A refused signature leaves its reason in the thread's queue, where it would be taken for the
    // reason of the next failure.
    defer { ERR_clear_error() }
    guard handle != nil, context != nil, EVP_DigestVerifyInit(context, nil, nil, nil, handle) == 1
    else { throw cryptoFailure("EVP_DigestVerifyInit") }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}

/// An Ed25519 key pair that signs; the secret half stays in libcrypto's memory.
package final class SigningKey: @unchecked Sendable {
  // Unchecked, because an EVP_PKEY is not changed after init and libcrypto lets any number of
  // threads sign with one.
  private let handle: OpaquePointer
  /// The half that others may know.
  package let publicKey: PublicKey

  private init(owning handle: OpaquePointer?) throws {
    guard let handle, let publicKey = Self.publicKey(of: handle) else {
      EVP_PKEY_free(handle)
      throw ContentError(
        .keyUnusable, "The key is no Ed25519 key", remedy: "Use a key that store init has made",
        cause: cryptoReason())
    }
    self.handle = handle
    self.publicKey = publicKey
  }

  deinit { EVP_PKEY_free(handle) }

  private static func publicKey(of handle: OpaquePointer) -> PublicKey? {
    guard EVP_PKEY_get_base_id(handle) == EVP_PKEY_ED25519 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 32)
    var count = bytes.count
    guard EVP_PKEY_get_raw_public_key(handle, &bytes, &count) == 1, count == 32 else { return nil }
    return PublicKey(bytes: bytes)
  }

  /// Makes a new key from libcrypto's random numbers.
  package static func generate() throws -> SigningKey {
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil)
    defer { EVP_PKEY_CTX_free(context) }
    var handle: OpaquePointer?
    guard context != nil, EVP_PKEY_keygen_init(context) == 1,
      EVP_PKEY_keygen(context, &handle) == 1
    else { throw cryptoFailure("EVP_PKEY_keygen") }
    return try SigningKey(owning: handle)
  }

  /// Takes the 32 secret bytes of RFC 8032.
  package convenience init(seed: [UInt8]) throws {
    try self.init(
      owning: EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count))
  }

  /// Reads an unencrypted PKCS#8 PEM file's text; `keyUnusable` for anything else.
  package convenience init(pem: [UInt8]) throws {
    let memory = BIO_new_mem_buf(pem, Int32(clamping: pem.count))
    defer { BIO_free(memory) }
    // Without this answer, libcrypto would ask the terminal for a passphrase.
    try self.init(owning: PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in -1 }, nil))
  }

  /// The key as an unencrypted PKCS#8 PEM file's text.
  package var pem: [UInt8] {
    get throws {
      let memory = BIO_new(BIO_s_mem())
      defer { BIO_free(memory) }
      var text: UnsafeMutablePointer<CChar>?
      guard memory != nil,
        PEM_write_bio_PKCS8PrivateKey(memory, handle, nil, nil, 0, nil, nil) == 1
      else { throw cryptoFailure("PEM_write_bio_PKCS8PrivateKey") }
      let count = hc_bio_memory(memory, &text)
      return Array(UnsafeRawBufferPointer(start: text, count: count))
    }
  }

  /// The 64 bytes of the signature over `message`.
  ///
  /// The corresponding C function is EVP_DigestSign.
  package func sign(_ message: [UInt8]) throws -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 64)
    var count = signature.count
    guard context != nil, EVP_DigestSignInit(context, nil, nil, nil, handle) == 1,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == 64
    else { throw cryptoFailure("EVP_DigestSign") }
    return signature
  }
}

/// The oldest reason in this thread's queue, which is emptied.
private func cryptoReason() -> String? {
  let number = ERR_get_error()
  ERR_clear_error()
  guard number != 0 else { return nil }
  var text = [CChar](repeating: 0, count: 256)
  ERR_error_string_n(number, &text, text.count)
  return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}

private func cryptoFailure(_ function: String) -> ContentError {
  ContentError(
    .inconsistent, "libcrypto's \(function) failed", remedy: "Check the installed OpenSSL",
    cause: cryptoReason())
}

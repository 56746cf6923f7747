import CCrypto
import ContentModel
import Digests

/// A key of libcrypto, freed with its last reference.
///
/// May be used from any thread: an EVP_PKEY is not changed after it was made, and libcrypto lets
/// any number of threads sign and verify with one.
final class CryptoKey: @unchecked Sendable {
  // Unchecked, because the handle is never changed.
  let handle: OpaquePointer

  /// Takes over `handle`; nil for none.
  init?(owning handle: OpaquePointer?) {
    guard let handle else { return nil }
    self.handle = handle
  }

  deinit { EVP_PKEY_free(handle) }

  /// Reads a public key in the form of SubjectPublicKeyInfo (RFC 5280); nil for anything else.
  convenience init?(publicDER bytes: [UInt8]) {
    guard CryptoLibrary.isReady else { return nil }
    defer { ERR_clear_error() }
    let handle = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var start = buffer.baseAddress
      let handle = d2i_PUBKEY(nil, &start, buffer.count)
      // One key has one form: nothing may follow it.
      guard start == buffer.baseAddress.map({ $0 + buffer.count }) else {
        EVP_PKEY_free(handle)
        return nil
      }
      return handle
    }
    self.init(owning: handle)
  }

  /// Reads a public key in PEM form; nil for anything else.
  convenience init?(publicPEM text: String) {
    defer { ERR_clear_error() }
    self.init(
      owning: Self.reading(Array(text.utf8)) {
        PEM_read_bio_PUBKEY($0, nil, { _, _, _, _ in -1 }, nil)
      })
  }

  /// What `read` makes of `bytes`, which libcrypto does not copy: they must stay until it is done.
  static func reading(_ bytes: [UInt8], _ read: (OpaquePointer?) -> OpaquePointer?)
    -> OpaquePointer?
  {
    guard !bytes.isEmpty, CryptoLibrary.isReady else { return nil }
    return bytes.withUnsafeBytes { buffer in
      let memory = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count))
      defer { BIO_free(memory) }
      return read(memory)
    }
  }

  /// What kind of key it is; nil for one that we neither sign nor verify with.
  var kind: KeyKind? {
    switch EVP_PKEY_get_base_id(handle) {
    case EVP_PKEY_ED25519: .ed25519
    case EVP_PKEY_EC where groupName == "prime256v1": .ecdsaP256
    // Shorter ones can be broken, longer ones cost a reader more than any signature should. With
    // one exponent, who has the factors of a modulus has one key and not many.
    case EVP_PKEY_RSA
    where (2048...8192).contains(EVP_PKEY_get_bits(handle)) && exponent == 65537: .rsaPSS
    default: nil
    }
  }

  /// The public exponent of an RSA key; nil for one that does not fit.
  private var exponent: UInt? {
    var number: OpaquePointer?
    defer { BN_free(number) }
    // The parameter is OSSL_PKEY_PARAM_RSA_E, a macro that is not imported.
    guard EVP_PKEY_get_bn_param(handle, "e", &number) == 1, let number else { return nil }
    return BN_num_bits(number) <= UInt.bitWidth ? BN_get_word(number) : nil
  }

  private var groupName: String {
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_get_group_name(handle, &name, name.count, &count) == 1 else { return "" }
    return String(decoding: name.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// The public half as SubjectPublicKeyInfo.
  var publicDER: [UInt8] {
    get throws {
      var start: UnsafeMutablePointer<UInt8>?
      let count = i2d_PUBKEY(handle, &start)
      guard count > 0, let start else { throw ContentError.crypto("i2d_PUBKEY") }
      defer { CRYPTO_free(start, nil, 0) }
      return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }
  }

  /// The public half in PEM form.
  var publicPEM: String {
    get throws {
      let bytes = try CryptoKey.text("PEM_write_bio_PUBKEY") { PEM_write_bio_PUBKEY($0, handle) }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// What `write` puts into memory; `function` is its name for a message.
  static func text(_ function: String, _ write: (OpaquePointer?) -> Int32) throws -> [UInt8] {
    let memory = BIO_new(BIO_s_mem())
    defer { BIO_free(memory) }
    var text: UnsafeMutablePointer<CChar>?
    guard memory != nil, write(memory) == 1 else { throw ContentError.crypto(function) }
    let count = hc_bio_memory(memory, &text)
    return Array(UnsafeRawBufferPointer(start: text, count: count))
  }
}

/// The kinds of keys that sign here, by the names that metadata gives them.
package enum KeyKind: String, CaseIterable, Sendable {
  /// Ed25519 (RFC 8032).
  case ed25519
  /// ECDSA over P-256 with SHA-256 (FIPS 186-4).
  case ecdsaP256 = "ecdsa"
  /// RSASSA-PSS with SHA-256 (RFC 8017).
  case rsaPSS = "rsa"

  /// The signature scheme's name in metadata.
  var scheme: String {
    switch self {
    case .ed25519: "ed25519"
    case .ecdsaP256: "ecdsa-sha2-nistp256"
    case .rsaPSS: "rsassa-pss-sha256"
    }
  }
}

extension KeyKind {
  /// The digest that libcrypto makes before it signs; nil where the scheme has its own.
  private var digest: OpaquePointer? { self == .ed25519 ? nil : EVP_sha256() }

  /// Sets up `context` for this scheme; `start` is EVP_DigestSignInit or EVP_DigestVerifyInit.
  func prepare(
    _ context: OpaquePointer?, saltLength: Int32,
    _ start: (UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?) -> Int32
  ) -> Bool {
    var details: OpaquePointer?
    guard context != nil, start(&details, digest) == 1 else { return false }
    guard self == .rsaPSS else { return true }
    return EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) == 1
      && EVP_PKEY_CTX_set_rsa_pss_saltlen(details, saltLength) == 1
  }
}

extension ContentError {
  /// A failure that only memory or a broken installation can cause.
  static func crypto(_ function: String) -> ContentError {
    ContentError(
      .inconsistent, "libcrypto's \(function) failed", remedy: "Check the installed OpenSSL",
      cause: cryptoReason())
  }

  /// The oldest reason in this thread's queue, which is emptied.
  static func cryptoReason() -> String? {
    let number = ERR_get_error()
    ERR_clear_error()
    guard number != 0 else { return nil }
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(number, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

import HostedCCrypto

/// The supported kinds of keys, with their names in metadata.
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
  /// The digest that libcrypto computes before signing; nil if the scheme includes one.
  private var digest: OpaquePointer? { self == .ed25519 ? nil : EVP_sha256() }

  /// Prepares `context` for this scheme; `start` calls EVP_DigestSignInit or EVP_DigestVerifyInit.
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

import HostedCCrypto
import HostedModel

/// Message authentication codes with a secret key (RFC 2104).
package enum HMAC {
  /// Returns the HMAC-SHA256 of `message`; throws `inconsistent` if libcrypto fails.
  ///
  /// The C function is EVP_Q_mac.
  package static func sha256(_ message: [UInt8], key: [UInt8]) throws -> [UInt8] {
    var code = [UInt8](repeating: 0, count: 32)
    var count = 0
    guard CryptoLibrary.isReady,
      EVP_Q_mac(
        nil, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count, &code, code.count,
        &count) != nil,
      count == code.count
    else {
      throw ContentError.crypto("EVP_Q_mac")
    }
    return code
  }

  /// Returns whether both are equal, in a time that does not depend on where they differ.
  package static func isEqual(_ code: [UInt8], _ other: [UInt8]) -> Bool {
    code.count == other.count && CRYPTO_memcmp(code, other, code.count) == 0
  }
}

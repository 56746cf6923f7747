import HostedCCrypto
package import HostedModel

/// The initialization of libcrypto before its first use in a process.
package enum CryptoLibrary {
  /// Whether libcrypto is initialized.
  ///
  /// By default, libcrypto frees its tables in an exit handler, while other threads may still use
  /// them. Such a process crashes at its exit. The first call in a process decides whether the
  /// handler is installed: OPENSSL_init_crypto(3).
  package static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}

extension ContentError {
  /// A failure that can only be caused by lack of memory or a broken installation.
  package static func crypto(_ function: String) -> ContentError {
    ContentError(
      .inconsistent, "libcrypto's \(function) failed", remedy: "Check the installed OpenSSL",
      cause: cryptoReason())
  }

  /// Removes all errors from this thread's queue and returns the oldest.
  private static func cryptoReason() -> String? {
    let number = ERR_get_error()
    ERR_clear_error()
    guard number != 0 else { return nil }
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(number, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

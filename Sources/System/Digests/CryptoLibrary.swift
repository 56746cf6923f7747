import CCrypto

/// The initialization of libcrypto before its first use in a process.
package enum CryptoLibrary {
  /// Whether libcrypto is initialized.
  ///
  /// By default, libcrypto frees its tables in an exit handler, while other threads may still use
  /// them. Such a process crashes at its exit. The first call in a process decides whether the
  /// handler is installed: OPENSSL_init_crypto(3).
  package static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}

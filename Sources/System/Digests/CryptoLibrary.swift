import CCrypto

/// The preparation of libcrypto, before its first use in a process.
package enum CryptoLibrary {
  /// Whether libcrypto was prepared.
  ///
  /// It frees its tables in an exit handler, while other threads of the process may still use them,
  /// and such a process crashes at its end. The first call in a process decides whether there is
  /// that handler: OPENSSL_init_crypto(3).
  package static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}

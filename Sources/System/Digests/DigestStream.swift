import CCrypto
package import ContentModel

/// A digest that is computed as bytes arrive; one use at a time, reused after `finish`.
///
/// The corresponding C functions are EVP_DigestInit_ex2, EVP_DigestUpdate and EVP_DigestFinal_ex.
package struct DigestStream: ~Copyable {
  /// Which digest.
  package enum Algorithm: Sendable {
    /// SHA-256, for everything of ours.
    case sha256
    /// SHA-512, for others' metadata that promises it.
    case sha512
    /// SHA-1, only because xar's table of contents is read with nothing better.
    case sha1

    fileprivate var type: OpaquePointer? {
      switch self {
      case .sha256: Self.fetchedSHA256
      case .sha512: Self.fetchedSHA512
      case .sha1: Self.fetchedSHA1
      }
    }

    // Fetched once, because OpenSSL 3 looks a digest up anew each time it is only named. Unsafe
    // only in name: they are never changed or freed.
    nonisolated(unsafe) private static let fetchedSHA256 = fetched("SHA256")
    nonisolated(unsafe) private static let fetchedSHA512 = fetched("SHA512")
    nonisolated(unsafe) private static let fetchedSHA1 = fetched("SHA1")

    private static func fetched(_ name: String) -> OpaquePointer? {
      CryptoLibrary.isReady ? EVP_MD_fetch(nil, name, nil) : nil
    }
  }

  // Nil only when there is no memory; the first use then throws, since a throwing initializer of a
  // noncopyable type cannot release what it holds.
  private let context: OpaquePointer?
  private let algorithm: Algorithm
  private var isStarted = false

  /// Creates a stream; a failure of libcrypto (`inconsistent`) is thrown by the first use.
  package init(_ algorithm: Algorithm = .sha256) {
    context = EVP_MD_CTX_new()
    self.algorithm = algorithm
  }

  deinit { EVP_MD_CTX_free(context) }

  private mutating func start() throws {
    guard !isStarted else { return }
    guard context != nil, EVP_DigestInit_ex2(context, algorithm.type, nil) == 1 else {
      throw Self.failure("EVP_DigestInit_ex2")
    }
    isStarted = true
  }

  /// Adds bytes.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) throws {
    try start()
    guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
      throw Self.failure("EVP_DigestUpdate")
    }
  }

  /// The digest of what was added, as bytes; the stream starts anew.
  package mutating func finishBytes() throws -> [UInt8] {
    try withFinished { Array($0) }
  }

  private mutating func withFinished<Value>(_ body: (UnsafeRawBufferPointer) -> Value) throws
    -> Value
  {
    try start()
    isStarted = false
    let length = Int(EVP_MAX_MD_SIZE)
    return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { bytes in
      var count: UInt32 = 0
      guard EVP_DigestFinal_ex(context, bytes.baseAddress, &count) == 1 else {
        throw Self.failure("EVP_DigestFinal_ex")
      }
      return body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<Int(count)])))
    }
  }

  /// The SHA-256 of what was added; the stream starts anew.
  package mutating func finish() throws -> Digest {
    guard let digest = try withFinished({ Digest($0) }) else { throw Self.failure("SHA-256") }
    return digest
  }

  private static func failure(_ function: String) -> ContentError {
    ContentError(
      .inconsistent, "libcrypto's \(function) failed", remedy: "Check the installed OpenSSL")
  }
}

extension Digest {
  /// The SHA-256 of `bytes`.
  package init(of bytes: UnsafeRawBufferPointer) throws {
    var stream = DigestStream()
    try stream.update(bytes)
    self = try stream.finish()
  }

  /// The SHA-256 of `bytes`.
  package init(of bytes: [UInt8]) throws {
    self = try bytes.withUnsafeBytes { try Digest(of: $0) }
  }
}

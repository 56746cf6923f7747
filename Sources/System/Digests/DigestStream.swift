import HostedCCrypto
package import HostedModel

/// Computes a digest as bytes arrive.
///
/// Use it from one thread; `finish` resets it. The C functions are EVP_DigestInit_ex2,
/// EVP_DigestUpdate and EVP_DigestFinal_ex.
package struct DigestStream: ~Copyable {
  /// The algorithm of a digest, by its name in libcrypto.
  package enum Algorithm: String, CaseIterable, Sendable {
    /// SHA-256, for all digests of our own.
    case sha256 = "SHA256"
    /// SHA-512, for external metadata that uses it.
    case sha512 = "SHA512"
    /// SHA-1, only because readers of xar's table of contents support nothing better.
    case sha1 = "SHA1"
    /// MD5, only because nginx's module secure_link supports nothing else.
    case md5 = "MD5"

    fileprivate var type: OpaquePointer? { Self.types[self] }

    // Fetched once, because OpenSSL 3 looks up a digest for each use by name. Safe, because the
    // values are never changed or freed.
    nonisolated(unsafe) private static let types: [Algorithm: OpaquePointer] =
      CryptoLibrary.isReady
      ? allCases.reduce(into: [:]) { $0[$1] = EVP_MD_fetch(nil, $1.rawValue, nil) } : [:]
  }

  // Nil if memory is exhausted. The first use then throws, since a throwing initializer of a
  // noncopyable type cannot release its members.
  private let context: OpaquePointer?
  private let algorithm: Algorithm
  private var isStarted = false

  /// Creates a stream; an error of libcrypto (`inconsistent`) is thrown by the first use.
  package init(_ algorithm: Algorithm = .sha256) {
    context = EVP_MD_CTX_new()
    self.algorithm = algorithm
  }

  deinit { EVP_MD_CTX_free(context) }

  private mutating func start() throws {
    guard !isStarted else { return }
    guard context != nil, EVP_DigestInit_ex2(context, algorithm.type, nil) == 1 else {
      throw ContentError.crypto("EVP_DigestInit_ex2")
    }
    isStarted = true
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) throws {
    try start()
    guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
      throw ContentError.crypto("EVP_DigestUpdate")
    }
  }

  /// Returns the digest of the added bytes, and resets the stream.
  package mutating func finishBytes() throws -> [UInt8] { try withFinished { Array($0) } }

  private mutating func withFinished<Value>(_ body: (UnsafeRawBufferPointer) -> Value) throws
    -> Value
  {
    try start()
    isStarted = false
    let length = Int(EVP_MAX_MD_SIZE)
    return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { bytes in
      var count: UInt32 = 0
      guard EVP_DigestFinal_ex(context, bytes.baseAddress, &count) == 1 else {
        throw ContentError.crypto("EVP_DigestFinal_ex")
      }
      return body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<Int(count)])))
    }
  }

  /// Returns the SHA-256 of the added bytes, and resets the stream.
  package mutating func finish() throws -> Digest {
    guard let digest = try withFinished({ Digest($0) }) else {
      throw ContentError.crypto("SHA-256")
    }
    return digest
  }

  package static func bytes(_ algorithm: Algorithm, of bytes: [UInt8]) throws -> [UInt8] {
    var stream = DigestStream(algorithm)
    try bytes.withUnsafeBytes { try stream.update($0) }
    return try stream.finishBytes()
  }
}

extension Digest {
  /// Computes the SHA-256 of `bytes`.
  package init(of bytes: UnsafeRawBufferPointer) throws {
    var stream = DigestStream()
    try stream.update(bytes)
    self = try stream.finish()
  }

  /// Computes the SHA-256 of `bytes`.
  package init(of bytes: [UInt8]) throws { self = try bytes.withUnsafeBytes { try Digest(of: $0) } }
}

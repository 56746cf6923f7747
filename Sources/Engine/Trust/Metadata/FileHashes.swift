package import HostedModel
import HostedDigests

/// The digests that metadata lists for a file: SHA-256, SHA-512 or both.
package struct FileHashes: Hashable, Sendable {
  /// SHA-256; nil if it is not listed.
  package let sha256: Digest?
  /// The 64 bytes of SHA-512; nil if it is not listed.
  package let sha512: [UInt8]?

  package init(sha256: Digest) {
    self.sha256 = sha256
    sha512 = nil
  }

  /// Reads a `hashes` object.
  ///
  /// Other algorithms are ignored. Returns nil if the object has neither SHA-256 nor SHA-512, or if
  /// one of them is malformed.
  init?(json: JSONValue) {
    let (short, long) = (json["sha256"], json["sha512"])
    guard short != nil || long != nil else { return nil }
    sha256 = short?.string.flatMap { Digest(hex: $0) }
    sha512 = long?.string.flatMap(Hexadecimal.bytes(of:)).flatMap { $0.count == 64 ? $0 : nil }
    guard (sha256 != nil) == (short != nil), (sha512 != nil) == (long != nil) else { return nil }
  }

  var json: JSONValue {
    var members: [String: JSONValue] = [:]
    members["sha256"] = sha256.map { .string($0.hex) }
    members["sha512"] = sha512.map { .string(Hexadecimal.text(of: $0)) }
    return .object(members)
  }

  /// Prefixes of the file's name in a store with consistent snapshots, the usual one first.
  package var prefixes: [String] {
    [sha256?.hex, sha512.map { Hexadecimal.text(of: $0) }].compactMap { $0 }
  }

  /// Throws `digestMismatch` unless `bytes` have the listed length and digests; nil if not listed.
  static func check(
    _ bytes: [UInt8], length: Int64?, hashes: FileHashes?, of file: String
  ) throws {
    if let length, Int64(bytes.count) != length {
      throw ContentError.digestMismatch(file, "it has \(bytes.count) bytes instead of \(length)")
    }
    guard let hashes else { return }
    var hashing = FileHashing(hashes)
    try bytes.withUnsafeBytes { try hashing.update($0) }
    if let difference = try hashing.difference() {
      throw ContentError.digestMismatch(file, difference)
    }
  }
}

/// Checks a file's digests while its bytes arrive.
package struct FileHashing: ~Copyable {
  private let promised: FileHashes
  private var short = DigestStream()
  private var long = DigestStream(.sha512)

  package init(_ promised: FileHashes) { self.promised = promised }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) throws {
    if promised.sha256 != nil { try short.update(bytes) }
    if promised.sha512 != nil { try long.update(bytes) }
  }

  /// Returns what differs, as the end of a sentence; nil if the digests match.
  package mutating func difference() throws -> String? {
    if let wanted = promised.sha256 {
      let found = try short.finish()
      if found != wanted { return "its SHA-256 is \(found.hex) instead of \(wanted.hex)" }
    }
    if let wanted = promised.sha512 {
      let found = try long.finishBytes()
      if found != wanted { return "its SHA-512 differs" }
    }
    return nil
  }
}

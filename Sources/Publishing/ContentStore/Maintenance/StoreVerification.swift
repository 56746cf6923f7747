public import HostedModel
package import HostedFileIO

/// A difference between a store's files and its signed metadata.
public struct StoreDamage: Hashable, Codable, Sendable {
  /// The kind of the difference.
  public enum Problem: String, Codable, Sendable {
    /// The file does not exist.
    case missing
    /// The file has another length or another digest.
    case changed
    /// The file cannot be read.
    case unreadable
    /// The file is as it was signed, but contradicts another file or its own form.
    case inconsistent
  }

  /// The product; nil for a file that belongs to no product, such as a bin.
  public let productIdentifier: ProductIdentifier?
  /// The content of an archive, an index or a content's own entry; nil for other files.
  public let contentIdentifier: ProductIdentifier?
  /// The version of an archive or index; nil for other files.
  public let version: ContentVersion?
  /// The path below the store's folder.
  public let path: String
  /// The kind of the difference.
  public let problem: Problem
  /// The difference, as the end of a sentence.
  public let reason: String
  /// What to do; a sentence without a final period.
  public let remedy: String
}

/// The result of comparing a store's files with its signed metadata.
public struct StoreVerification: Hashable, Codable, Sendable {
  /// The number of files that were compared.
  public internal(set) var files = 0
  /// The signed length of these files, in bytes; the actual length of bins, which is not signed.
  public internal(set) var bytes: Int64 = 0
  /// The differences, by list, product and version.
  public internal(set) var damages: [StoreDamage] = []
}

extension StoreFolder {
  /// Compares every bin, records file, record, archive and index with the signed metadata.
  ///
  /// A bin must be signed. All other files must exist with their lengths and digests; an index must
  /// be readable and describe exactly its archive; a record must be readable; a records file must
  /// have all records of its list. Changes nothing and needs no keys. The top-level metadata is
  /// verified first, like for `products()`, and errors in it are thrown.
  ///
  /// Verifies `products`, or all if it is empty, and throws `productUnknown` for an unknown one.
  /// For `products`, reads only the bins that list them and their contents, and a records file only
  /// for a lost record. Reads at most `bytesPerSecond`; nil is unlimited, and less than 1 is
  /// `usage`. An archive is read up to three times. Calls `willRead` with the path of each file
  /// before it is read, and `didFind` with each difference, which the result has too. An error that
  /// they throw ends the verification.
  public func verify(
    _ products: Set<ProductIdentifier> = [], bytesPerSecond: Int64? = nil,
    willRead: @escaping (_ path: String) throws -> Void = { _ in },
    didFind: @escaping (StoreDamage) throws -> Void = { _ in }
  ) throws -> StoreVerification {
    if let bytesPerSecond, bytesPerSecond < 1 {
      throw ContentError(
        .usage, "Cannot read \(bytesPerSecond) bytes per second",
        remedy: "Use at least 1, or no limit")
    }
    return try verify(
      products, throttle: bytesPerSecond.map { ReadThrottle(bytesPerSecond: $0) },
      willRead: willRead, didFind: didFind)
  }

  /// Compares the files; a test can control the clock of `throttle`.
  package func verify(
    _ products: Set<ProductIdentifier>, throttle: ReadThrottle?,
    willRead: @escaping (_ path: String) throws -> Void,
    didFind: @escaping (StoreDamage) throws -> Void
  ) throws -> StoreVerification {
    var verifier = StoreVerifier(
      folder: folder, metadata: try readMetadata(), throttle: throttle, willRead: willRead,
      didFind: didFind)
    try verifier.verify(products)
    return verifier.result
  }
}

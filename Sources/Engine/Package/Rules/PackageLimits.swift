import HostedModel

/// The limits of a package, enforced while it is read.
package struct PackageLimits: Sendable {
  /// The bytes of the package itself; Apple's limit is 2 GB.
  package var packageLength: Int64
  /// The total number of files, folders and links, including implied folders.
  package var entryCount: Int
  /// The components of a path below the content's root.
  package var depth: Int
  /// The total bytes of all installed files.
  package var totalSize: Int64
  /// The decompressed bytes per compressed byte, in addition to `expansionAllowance`.
  package var expansionRatio: Int64
  /// The decompressed bytes that a package of any length may have.
  package var expansionAllowance: Int64
  /// The bytes of a path, and of a link's target.
  package var pathLength: Int
  /// The bytes of one component of a path.
  package var componentLength: Int
  /// The total bytes of all paths and link targets, including implied folders.
  package var pathTotal: Int

  /// The bytes of a path in any header, before the rules of paths apply.
  package static let headerPathLength = 4096

  /// The limits of hosted content.
  package static let standard = PackageLimits(
    packageLength: 2 << 30, entryCount: PackageIndex.maximumEntryCount, depth: 32,
    totalSize: 8 << 30, expansionRatio: 200, expansionAllowance: 16 << 20, pathLength: 1024,
    componentLength: 255, pathTotal: PackageIndex.maximumPathTotal)

  /// Returns the maximum of decompressed bytes for a package of `packedLength` bytes.
  func plainLimit(packedLength: Int64) -> Int64 {
    let (product, overflow) = packedLength.multipliedReportingOverflow(by: expansionRatio)
    let (sum, tooMuch) = product.addingReportingOverflow(expansionAllowance)
    return min(totalSize, overflow || tooMuch ? .max : sum)
  }
}

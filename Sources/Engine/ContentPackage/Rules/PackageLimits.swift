import ContentModel

/// What a package may not exceed; enforced while it is read.
package struct PackageLimits: Sendable {
  /// Bytes of the package itself; Apple's limit is 2 GB.
  package var packageLength: Int64
  /// Files, folders and links together, implied folders included.
  package var entryCount: Int
  /// Components of a path below the content's root.
  package var depth: Int
  /// Bytes of all files once installed.
  package var totalSize: Int64
  /// Plain bytes for each packed byte, beyond an allowance of `expansionAllowance`.
  package var expansionRatio: Int64
  /// Plain bytes that a package may have whatever its packed length is.
  package var expansionAllowance: Int64
  /// Bytes of a path, and of a link's target.
  package var pathLength: Int
  /// Bytes of one component of a path.
  package var componentLength: Int
  /// Bytes of all paths and links' targets together, implied folders included.
  package var pathTotal: Int

  /// Bytes of a path in any header, whatever the rules of paths say of it then.
  package static let headerPathLength = 4096

  /// The limits of hosted content.
  package static let standard = PackageLimits(
    packageLength: 2 << 30, entryCount: PackageIndex.maximumEntryCount, depth: 32,
    totalSize: 8 << 30, expansionRatio: 200, expansionAllowance: 16 << 20, pathLength: 1024,
    componentLength: 255, pathTotal: PackageIndex.maximumPathTotal)

  /// Plain bytes that a package of `packedLength` bytes may hold.
  func plainLimit(packedLength: Int64) -> Int64 {
    let (product, overflow) = packedLength.multipliedReportingOverflow(by: expansionRatio)
    let (sum, tooMuch) = product.addingReportingOverflow(expansionAllowance)
    return min(totalSize, overflow || tooMuch ? .max : sum)
  }
}

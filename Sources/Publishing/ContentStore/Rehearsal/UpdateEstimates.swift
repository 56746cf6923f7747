import HostedModel
import HostedPackage
import HostedTrust
import HostedDigests
import HostedFileIO

extension CatalogRecord {
  /// The number of lower versions from which updates are estimated.
  private static let lowerVersions = 3

  func offers(missingIn other: CatalogRecord?) -> [ContentOffer] {
    offers.filter { other?.offer($0.contentIdentifier, $0.version) == nil }
  }

  /// The updates to the newest versions, if `old` does not have them, from its last versions.
  ///
  /// `indexes` are those of new packages, by the digest of the package; `store` has the others.
  func updates(
    from old: CatalogRecord?, _ indexes: [Digest: PackageIndex], in store: Directory
  ) throws -> [UpdateEstimate] {
    guard let old else { return [] }
    let new = Set(offers(missingIn: old))
    return try newestOffers.filter(new.contains).flatMap { offer -> [UpdateEstimate] in
      guard let index = indexes[offer.package.digest] else { return [] }
      let lower = old.offers.filter {
        $0.contentIdentifier == offer.contentIdentifier && $0.version < offer.version
      }
      return try lower.prefix(Self.lowerVersions).map {
        try UpdateEstimate(from: $0, to: offer, index, in: store)
      }
    }
  }
}

extension UpdateEstimate {
  /// Why a package without members is fetched whole, if its index does not say it.
  private static let noMembers = "Its index does not list members"

  fileprivate init(
    from old: ContentOffer, to new: ContentOffer, _ index: PackageIndex, in store: Directory
  ) throws {
    productIdentifier = new.productIdentifier
    contentIdentifier = new.contentIdentifier
    installed = old.version
    offered = new.version
    bytesInFull = new.package.length + new.index.length
    guard index.payload != nil else {
      bytesToMove = bytesInFull
      wholePackageReason = index.obstacle ?? Self.noMembers
      return
    }
    wholePackageReason = nil
    let members = try old.storedIndex(in: store).flatMap { index.bytesToFetch(updating: $0) }
    bytesToMove = members.map { $0 + new.index.length }
  }
}

extension ContentOffer {
  /// The index as signed, from the folder of the store; nil if it is lost or cannot be read.
  fileprivate func storedIndex(in store: Directory) throws -> PackageIndex? {
    let path = index.path.pathComponents()
    do {
      let folder = try store.directory(at: path.dropLast())
      let bytes = try folder.contents(of: path.last ?? "", limit: PackageIndex.maximumLength)
      guard try Digest(of: bytes) == index.digest else { return nil }
      return try PackageIndex(encoded: bytes)
    } catch let error as ContentError
      where [.fileMissing, .limitExceeded, .storeDamaged, .formatUnknown].contains(error.code)
    {
      return nil
    }
  }
}

import ContentModel
import ContentPackage
import ContentTransfer

/// A small package fetched whole from a distant server, and the index built from it.
///
/// This saves the request for the index. The result is the same, because the store builds its index
/// in the same way and the package has its signed digest.
struct WholePackage {
  let index: PackageIndex
  let file: WholeFile

  /// Fetches the package of `offer`; nil if that does not save time or it cannot be indexed.
  init?(of offer: ContentOffer, from source: any PieceSource, ticket: TransferTicket) throws {
    guard source.isBestWhole(offer.package) else { return nil }
    file = try WholeFile(offer.package, from: source, ticket: ticket)
    // A package from other publishing software may break a rule. Then use the store's index.
    guard let examination = try? examinePackage(file, name: offer.package.path),
      examination.isValid,
      let index = try? PackageIndex(indexing: file, entries: examination.entries)
    else { return nil }
    self.index = index
  }
}

// The file is verified, so an archive can be read from it.
extension WholeFile: ByteSource {}

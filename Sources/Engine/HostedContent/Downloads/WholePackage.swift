import ContentModel
import ContentPackage
import ContentTransfer

/// A small package that came whole from a server that is far, and its index, which is made of it.
///
/// That saves the request for the index. Both say the same, since the store makes its index in this
/// way, too, and the package has its signed digest.
struct WholePackage {
  let index: PackageIndex
  let file: WholeFile

  /// Fetches the package of `offer`; nil where that saves no time, or the index cannot be made of
  /// it.
  init?(of offer: ContentOffer, from source: any PieceSource, ticket: TransferTicket) throws {
    guard source.isBestWhole(offer.package) else { return nil }
    file = try WholeFile(offer.package, from: source, ticket: ticket)
    // What a store of other software has published may break a rule; its index is fetched, then.
    guard let examination = try? examinePackage(file, name: offer.package.path),
      examination.isValid,
      let index = try? PackageIndex(indexing: file, entries: examination.entries)
    else { return nil }
    self.index = index
  }
}

// It has been verified, so an archive may be read from it.
extension WholeFile: ByteSource {}

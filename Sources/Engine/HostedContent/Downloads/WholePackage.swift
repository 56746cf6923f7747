import HostedModel
import HostedPackage
import HostedTransfer

/// Fetches a small package whole from a distant server; returns its index and the package as a
/// source.
///
/// This saves the request for the index. The result is the same, because the store builds its index
/// in the same way and the package has its signed digest. Returns nil if that does not save time or
/// the package cannot be indexed.
func wholePackage(
  of offer: ContentOffer, from source: any PieceSource, ticket: TransferTicket
) throws -> (PackageIndex, any PieceSource)? {
  guard source.isBestWhole(offer.package) else { return nil }
  let file = try WholeFile(offer.package, from: source, ticket: ticket)
  // A package from other publishing software may break a rule. Then use the store's index.
  guard let examination = try? examinePackage(file, name: offer.package.path),
    examination.isValid,
    let index = try? PackageIndex(indexing: file, entries: examination.entries)
  else { return nil }
  return (index, file)
}

// The file is verified, so an archive can be read from it.
extension WholeFile: ByteSource {}

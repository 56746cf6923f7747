import ContentLibrary
public import ContentModel
import ContentPackage
import ContentTransfer

extension LibraryReader {
  /// The updates that `products` offer for what is installed, with the bytes that each would fetch.
  ///
  /// Reads the index of each offered version from `store`, and of the installed files those that
  /// changed, but fetches nothing else and writes nothing. Blocking; throws what reading an index throws.
  public func updates(
    of products: [Product], from store: StoreLocation, network: NetworkSettings = NetworkSettings()
  ) throws -> [ContentUpdate] {
    let updates = try updates(of: products)
    guard !updates.isEmpty else { return [] }
    let store = try StoreAccess(store, network: network)
    defer { store.close() }
    let offers = products.flatMap(\.contents)
    return try updates.map { update in
      let offer = offers.first {
        $0.contentIdentifier == update.contentIdentifier && $0.version == update.offered
      }
      guard let offer else { return update }
      var measured = update
      measured.bytesToMove = try library.bytesToFetch(offer, from: store.pieceSource())
      return measured
    }
  }
}

extension ContentLibrary {
  /// Bytes that installing `offer` would fetch, its index included.
  ///
  /// Never more than a full download: each member is fetched once or not at all.
  func bytesToFetch(_ offer: ContentOffer, from source: any PieceSource) throws -> Int64 {
    let index = try PackageIndex(signedAs: offer, from: source, ticket: TransferTicket())
    guard index.payload != nil else { return offer.package.length + offer.index.length }
    let survey = try PackageSurvey(
      of: index, name: offer.package.path, staging: nil, reusing: reusableTrees(for: offer))
    return survey.missingBytes + offer.index.length
  }
}

import HostedLibrary
public import HostedModel
import HostedPackage
import HostedTransfer

extension LibraryReader {
  /// Returns the available updates, with the bytes that each would fetch; blocks.
  ///
  /// Reads the index of each offered version from `store` or a mirror, and changed installed files.
  /// Fetches nothing else and writes nothing. If an update cannot be measured, it has an error and
  /// the others are still measured. If content is only for buyers, `service` must grant it to the
  /// library's own account (`ContentGranting`). Throws errors of the network and of the library.
  public func updates(
    of products: [Product], from store: StoreReader, service: (any StoreService)? = nil
  ) throws -> [ContentUpdate] {
    let updates = try updates(of: products)
    guard !updates.isEmpty else { return [] }
    let store = try StoreAccess(store)
    defer { store.close() }
    let sources = ContentSources(of: store, services: [service].compactMap(\.self))
    let offers = products.flatMap(\.contents).map {
      (ContentKey($0.contentIdentifier, version: $0.version), $0)
    }
    let offerByKey = Dictionary(offers) { first, _ in first }
    let offered = updates.map { offerByKey[ContentKey($0.contentIdentifier, version: $0.offered)] }
    return try updates.indices.map { number in
      let update = updates[number]
      guard let offer = offered[number] else { return update }
      let next = offered[(number + 1)...].prefix(ContentGrantBook.callLimit - 1)
      let source = try sources.source(
        for: ContentRequest(offer: offer, ahead: next.compactMap(\.self)))
      do {
        return try library.measure(update, to: offer, from: source)
      } catch {
        // A service may throw errors of its own.
        let error = ContentError(error, while: "measuring \(offer.contentIdentifier)")
        if error.group == .network { throw error }
        var unmeasured = update
        unmeasured.measuringError = error.about(offer.productIdentifier.rawValue)
        return unmeasured
      }
    }
  }
}

extension ContentLibrary {
  /// Returns `update` with the bytes to fetch for installing `offer`, including its index.
  ///
  /// Never more than a full download, because each member is fetched at most once.
  func measure(_ update: ContentUpdate, to offer: ContentOffer, from source: any PieceSource)
    throws -> ContentUpdate
  {
    var measured = update
    let index = try PackageIndex(signedAs: offer, from: source, ticket: TransferTicket())
    guard index.payload != nil else {
      measured.wholePackageReason = index.obstacle ?? PackageFetch.noMembers
      return measured
    }
    let survey = try PackageSurvey(
      of: index, name: offer.package.path, staging: nil, reusing: reusableTrees(for: offer))
    measured.bytesToMove =
      source.bytesMoved(by: survey.missingPieces, of: offer.package) + offer.index.length
    return measured
  }
}

import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

extension StoreLocation {
  /// What the store offers, without a library: all of it, or the products that `identifiers` name.
  ///
  /// `trustedRoot` is the store's root metadata; nil takes the one of a local store, or that of a
  /// store on the web that may vouch for itself. Nothing is remembered, so a catalogue that was
  /// rolled back is only noticed by a library. Blocking.
  public func products(
    _ identifiers: Set<String>?, trustedRoot: [UInt8]?, trustsOnFirstUse: Bool = false,
    network: NetworkSettings = NetworkSettings()
  ) throws -> ProductsResponse {
    let store = try StoreAccess(self, network: network, trustsOnFirstUse: trustsOnFirstUse)
    defer { store.close() }
    return try FileSystem.real.withTemporaryDirectory { trustFolder in
      let catalogue = Catalogue(
        of: store, trustedRoot: trustedRoot, trustFolder: trustFolder, now: { Date() })
      let snapshot = try catalogue.refresh()
      return identifiers.map { ProductsResponse(to: $0, from: snapshot.products) }
        ?? snapshot.products(nil)
    }
  }
}

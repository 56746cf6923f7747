public import FoundationEssentials

/// A store's product page without a user interface: the data and the address to show.
///
/// Source: `SKStoreProductViewController`.
public struct ProductPage: Hashable, Sendable {
  /// The item with all fields from the store.
  public let listing: AppListing
  /// The page's URL with the parameters' tokens.
  public let url: URL
  /// The parameters of the lookup.
  public let parameters: ProductPageParameters
}

extension AppLookup {
  /// Looks up an item's page.
  ///
  /// Throws `queryInvalid` for an invalid token, `appNotOffered` for an item that the store does
  /// not have, and the errors of `lookUp`.
  public func productPage(for parameters: ProductPageParameters) async throws -> ProductPage {
    try parameters.check()
    let identifier = parameters.itemIdentifier
    let finding = try await find(.ids([identifier]), country: parameters.country)
    guard let listing = finding.listing, let url = parameters.pageURL(of: listing) else {
      throw ContentError(
        .appNotOffered, "The store does not have item \(identifier)",
        remedy: "Check the identifier and the storefront's country",
        subject: identifier.description)
    }
    return ProductPage(listing: listing, url: url, parameters: parameters)
  }
}

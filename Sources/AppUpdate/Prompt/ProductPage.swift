public import FoundationEssentials

/// A store's product page without a user interface: the data and the address to show.
///
/// Source: `SKStoreProductViewController`.
public struct ProductPage: Hashable, Sendable, CustomStringConvertible {
  /// The item with all fields from the store.
  public let listing: AppListing
  /// The page's URL with the parameters' tokens.
  public let url: URL
  /// The parameters of the lookup.
  public let parameters: ProductPageParameters

  /// The item and the page's URL.
  public var description: String { "\(listing.summary): \(url.absoluteString)" }
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

/// The parameters of a product page.
///
/// The lookup fails for a text that is empty or has more than 255 bytes. Source: the keys
/// `SKStoreProductParameter…`.
public struct ProductPageParameters: Hashable, Sendable, CustomStringConvertible {
  /// The item's number in the store.
  public var itemIdentifier: AppleID
  /// The in-app product that the page offers.
  public var productIdentifier: String?
  /// The custom product page of the app, a UUID in App Store Connect.
  public var customProductPageIdentifier: String?
  /// The affiliate.
  public var affiliateToken: String?
  /// The campaign, at most 40 bytes.
  public var campaignToken: String?
  /// The provider of the campaign.
  public var providerToken: String?
  /// The advertising partner.
  public var advertisingPartnerToken: String?
  /// The storefront; nil uses the lookup's storefront.
  public var country: CountryCode?

  /// Creates parameters for an item.
  public init(itemIdentifier: AppleID) { self.itemIdentifier = itemIdentifier }

  /// The tokens that are set, as query parameters of the page's URL.
  private var tokens: [(name: String, value: String)] {
    [
      ("at", affiliateToken), ("ct", campaignToken), ("pt", providerToken),
      ("advp", advertisingPartnerToken), ("ppid", customProductPageIdentifier),
      ("product", productIdentifier),
    ].compactMap { name, value in value.map { (name, $0) } }
  }

  /// Throws `queryInvalid` for a token that is empty or too long.
  func check() throws {
    for (name, value) in tokens {
      let limit = name == "ct" ? 40 : 255
      guard (1...limit).contains(value.utf8.count) else {
        throw ContentError(
          .queryInvalid,
          "The token “\(name)” has \(value.utf8.count) bytes, expected 1 to \(limit)",
          remedy: "Use the token exactly as you received it")
      }
    }
  }

  /// The page's URL from the store, with the tokens in its query replacing existing ones.
  func pageURL(of listing: AppListing) -> URL? {
    let plain = "https://apps.apple.com/app/id\(itemIdentifier)"
    let page = (try? DownloadLink(listing.trackViewURL)?.permitted())?.absoluteString ?? plain
    let parts = page.split(separator: "#", maxSplits: 1)[0].split(separator: "?", maxSplits: 1)
    let names = Set(tokens.map(\.name))
    let kept = parts.count > 1 ? parts[1].split(separator: "&").map(String.init) : []
    let query =
      kept.filter { !names.contains(String($0.prefix { $0 != "=" })) }
      + tokens.map { QueryParameter($0.name, $0.value).encoded }
    return URL(
      string: query.isEmpty ? String(parts[0]) : "\(parts[0])?\(query.joined(separator: "&"))")
  }

  /// The item and the tokens that are set, such as `id364709193 at=… ct=…`.
  public var description: String {
    (["id\(itemIdentifier)"] + tokens.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
  }
}

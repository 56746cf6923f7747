import FoundationEssentials

/// What a product page is loaded with.
///
/// Source: the keys `SKStoreProductParameter…`.
public struct ProductPageParameters: Hashable, Sendable {
  /// The item's number; one that is no identifier makes loading fail with error 5.
  public var itemIdentifier: Int64
  /// The product inside the app that the page offers.
  public var productIdentifier: String?
  /// The custom page of the app, a UUID in App Store Connect.
  public var customProductPageIdentifier: String?
  /// The affiliate who sends the user.
  public var affiliateToken: String?
  /// The campaign that sends the user; 40 bytes at most.
  public var campaignToken: String?
  /// The provider whom the campaign is for.
  public var providerToken: String?
  /// The advertising partner who sends the user.
  public var advertisingPartnerToken: String?
  /// The storefront; nil takes the look-up's.
  public var country: CountryCode?

  /// Names the item; the rest is optional.
  public init(itemIdentifier: Int64) { self.itemIdentifier = itemIdentifier }

  /// Names and values of what is set, as the page's address carries them.
  private var tokens: [(name: String, value: String)] {
    [
      ("at", affiliateToken), ("ct", campaignToken), ("pt", providerToken),
      ("advp", advertisingPartnerToken), ("ppid", customProductPageIdentifier),
      ("product", productIdentifier),
    ].compactMap { name, value in value.map { (name, $0) } }
  }

  /// Throws `queryInvalid` for a token that is empty or longer than an address carries.
  func check() throws {
    for (name, value) in tokens {
      let limit = name == "ct" ? 40 : 255
      guard (1...limit).contains(value.utf8.count) else {
        throw ContentError(
          .queryInvalid,
          "The token “\(name)” has \(value.utf8.count) bytes instead of 1 to \(limit)",
          remedy: "Use the token as it was given to you")
      }
    }
  }

  /// The page's address: the store's own, with the tokens in its query in place of older ones.
  func pageURL(of listing: AppListing, _ identifier: AppleID) -> URL? {
    let plain = "https://apps.apple.com/app/id\(identifier)"
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
}

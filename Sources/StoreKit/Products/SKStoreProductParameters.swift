import AppUpdate
import Foundation

/// The number of the item, an `NSNumber` or digits; required.
public let SKStoreProductParameterITunesItemIdentifier = "id"
/// The product of the app to offer, a text.
public let SKStoreProductParameterProductIdentifier = "productIdentifier"
/// The custom product page of the app, a UUID as text.
public let SKStoreProductParameterCustomProductPageIdentifier = "ppid"
/// The affiliate token, a text.
public let SKStoreProductParameterAffiliateToken = "at"
/// The campaign token, a text of at most 40 bytes.
public let SKStoreProductParameterCampaignToken = "ct"
/// The provider token of the campaign, a text.
public let SKStoreProductParameterProviderToken = "pt"
/// The token of the advertising partner, a text.
public let SKStoreProductParameterAdvertisingPartnerToken = "advp"

extension ProductPageParameters {
  /// Reads StoreKit's keys; an item that is not a number becomes 0, which loading refuses.
  init(storeKit parameters: [String: Any]) {
    let item = parameters[SKStoreProductParameterITunesItemIdentifier]
    let number =
      (item as? NSNumber)?.int64Value ?? (item as? Int).map(Int64.init) ?? (item as? Int64)
      ?? (item as? String).flatMap { Int64($0) } ?? 0
    self.init(itemIdentifier: number)
    let text = { (key: String) in parameters[key].flatMap { ($0 as? String) ?? "\($0)" } }
    productIdentifier = text(SKStoreProductParameterProductIdentifier)
    customProductPageIdentifier = text(SKStoreProductParameterCustomProductPageIdentifier)
    affiliateToken = text(SKStoreProductParameterAffiliateToken)
    campaignToken = text(SKStoreProductParameterCampaignToken)
    providerToken = text(SKStoreProductParameterProviderToken)
    advertisingPartnerToken = text(SKStoreProductParameterAdvertisingPartnerToken)
  }
}

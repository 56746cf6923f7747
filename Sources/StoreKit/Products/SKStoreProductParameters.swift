import AppUpdate
import Foundation

/// The item's number, an `NSNumber` or digits; required.
public let SKStoreProductParameterITunesItemIdentifier = "id"
/// The product inside the app that the page offers, a text.
public let SKStoreProductParameterProductIdentifier = "productIdentifier"
/// The custom page of the app, a UUID as text.
public let SKStoreProductParameterCustomProductPageIdentifier = "ppid"
/// The affiliate who sends the user, a text.
public let SKStoreProductParameterAffiliateToken = "at"
/// The campaign that sends the user, a text of 40 bytes at most.
public let SKStoreProductParameterCampaignToken = "ct"
/// The provider whom the campaign is for, a text.
public let SKStoreProductParameterProviderToken = "pt"
/// The advertising partner who sends the user, a text.
public let SKStoreProductParameterAdvertisingPartnerToken = "advp"

extension ProductPageParameters {
  /// Reads StoreKit's keys; an item that is no number becomes 0, which loading refuses.
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

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
  /// Reads StoreKit's keys.
  ///
  /// Throws `appIdentifierInvalid` if the item is missing or is not a number of at least 1.
  init(storeKit parameters: [String: Any]) throws {
    let text = { (key: String) in parameters[key].flatMap { ($0 as? String) ?? "\($0)" } }
    let item = text(SKStoreProductParameterITunesItemIdentifier) ?? ""
    self.init(itemIdentifier: try AppleID(validating: item))
    productIdentifier = text(SKStoreProductParameterProductIdentifier)
    customProductPageIdentifier = text(SKStoreProductParameterCustomProductPageIdentifier)
    affiliateToken = text(SKStoreProductParameterAffiliateToken)
    campaignToken = text(SKStoreProductParameterCampaignToken)
    providerToken = text(SKStoreProductParameterProviderToken)
    advertisingPartnerToken = text(SKStoreProductParameterAdvertisingPartnerToken)
  }
}

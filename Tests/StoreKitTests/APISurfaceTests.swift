// As client files do, this one imports only StoreKit and uses Foundation's names.
import StoreKit
import Testing

/// Uses every symbol of Apple's API for hosted content with its Swift signature.
///
/// Most of the test is that it compiles; it also checks defaults, numbers and names.
@Suite("All of Apple's names exist")
struct APISurfaceTests {
  @Test("The queue")
  func queue() {
    let queue: SKPaymentQueue = SKPaymentQueue.default()
    #expect(queue === SKPaymentQueue.default())
    let _: () -> Bool = SKPaymentQueue.canMakePayments
    let _: ReferenceWritableKeyPath<SKPaymentQueue, (any SKPaymentQueueDelegate)?> = \.delegate
    let _: KeyPath<SKPaymentQueue, SKStorefront?> = \.storefront
    let _: KeyPath<SKPaymentQueue, [any SKPaymentTransactionObserver]> = \.transactionObservers
    let _: KeyPath<SKPaymentQueue, [SKPaymentTransaction]> = \.transactions
    let _: (SKPayment) -> Void = queue.add
    let _: () -> Void = queue.restoreCompletedTransactions
    let _: (String?) -> Void = queue.restoreCompletedTransactions(withApplicationUsername:)
    let _: (SKPaymentTransaction) -> Void = queue.finishTransaction(_:)
    let _: ([SKDownload]) -> Void = queue.start(_:)
    let _: ([SKDownload]) -> Void = queue.pause(_:)
    let _: ([SKDownload]) -> Void = queue.resume(_:)
    let _: ([SKDownload]) -> Void = queue.cancel(_:)
    let _: (any SKPaymentTransactionObserver) -> Void = queue.add
    let _: (any SKPaymentTransactionObserver) -> Void = queue.remove(_:)
    let _: () -> Void = queue.showPriceConsentIfNeeded
    let _: () -> Void = queue.presentCodeRedemptionSheet
  }

  @Test("Observer and delegate need only the methods that Apple requires")
  func protocols() {
    final class Least: NSObject, SKPaymentTransactionObserver, SKPaymentQueueDelegate {
      func paymentQueue(
        _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
      ) {}
    }
    let least = Least()
    let queue = SKPaymentQueue()
    let observer: any SKPaymentTransactionObserver = least
    let _: (SKPaymentQueue, [SKPaymentTransaction]) -> Void =
      observer.paymentQueue(_:updatedTransactions:)
    let _: (SKPaymentQueue, [SKPaymentTransaction]) -> Void =
      observer.paymentQueue(_:removedTransactions:)
    let _: (SKPaymentQueue, any Error) -> Void =
      observer.paymentQueue(_:restoreCompletedTransactionsFailedWithError:)
    let _: (SKPaymentQueue) -> Void = observer.paymentQueueRestoreCompletedTransactionsFinished(_:)
    let _: (SKPaymentQueue, [SKDownload]) -> Void = observer.paymentQueue(_:updatedDownloads:)
    let _: (SKPaymentQueue, SKPayment, SKProduct) -> Bool =
      observer.paymentQueue(_:shouldAddStorePayment:for:)
    let _: (SKPaymentQueue) -> Void = observer.paymentQueueDidChangeStorefront(_:)
    let _: (SKPaymentQueue, [String]) -> Void =
      observer.paymentQueue(_:didRevokeEntitlementsForProductIdentifiers:)
    #expect(!observer.paymentQueue(queue, shouldAddStorePayment: SKPayment(), for: SKProduct()))
    let delegate: any SKPaymentQueueDelegate = least
    #expect(
      delegate.paymentQueue(queue, shouldContinue: SKPaymentTransaction(), in: SKStorefront()))
    #expect(delegate.paymentQueueShouldShowPriceConsent(queue))
  }

  @Test("The transaction")
  func transaction() {
    let transaction = SKPaymentTransaction()
    let _: KeyPath<SKPaymentTransaction, (any Error)?> = \.error
    let _: KeyPath<SKPaymentTransaction, SKPaymentTransaction?> = \.original
    let _: KeyPath<SKPaymentTransaction, SKPayment> = \.payment
    let _: KeyPath<SKPaymentTransaction, [SKDownload]> = \.downloads
    let _: KeyPath<SKPaymentTransaction, Date?> = \.transactionDate
    let _: KeyPath<SKPaymentTransaction, String?> = \.transactionIdentifier
    let _: KeyPath<SKPaymentTransaction, Data?> = \.transactionReceipt
    let _: KeyPath<SKPaymentTransaction, SKPaymentTransactionState> = \.transactionState
    #expect(transaction.downloads.isEmpty && transaction.error == nil)
    #expect(transaction.payment === transaction.payment)
    let states: [SKPaymentTransactionState] = [
      .purchasing, .purchased, .failed, .restored, .deferred,
    ]
    #expect(states.map(\.rawValue) == Array(0...4))
  }

  @Test("The payment, which can be copied")
  func payment() throws {
    let product: SKProduct = SKProduct()
    let plain = SKPayment(product: product)
    let _: KeyPath<SKPayment, String> = \.productIdentifier
    let _: KeyPath<SKPayment, Int> = \.quantity
    let _: KeyPath<SKPayment, String?> = \.applicationUsername
    let _: KeyPath<SKPayment, Data?> = \.requestData
    let _: KeyPath<SKPayment, Bool> = \.simulatesAskToBuyInSandbox
    let _: KeyPath<SKPayment, SKPaymentDiscount?> = \.paymentDiscount
    #expect(plain.quantity == 1 && plain.applicationUsername == nil)
    #expect(plain.requestData == nil && !plain.simulatesAskToBuyInSandbox)
    let payment: SKMutablePayment = SKMutablePayment(product: product)
    let discount = SKPaymentDiscount(
      identifier: "offer", keyIdentifier: "key", nonce: UUID(), signature: "s",
      timestamp: NSNumber(value: 5))
    payment.productIdentifier = "p"
    payment.quantity = 3
    payment.applicationUsername = "user"
    payment.requestData = Data([1])
    payment.simulatesAskToBuyInSandbox = true
    payment.paymentDiscount = discount
    let copy = try #require(payment.copy() as? SKPayment)
    payment.quantity = 9
    #expect(!(copy is SKMutablePayment))
    #expect(copy.productIdentifier == "p" && copy.quantity == 3)
    #expect(copy.applicationUsername == "user" && copy.requestData == Data([1]))
    #expect(copy.simulatesAskToBuyInSandbox && copy.paymentDiscount === discount)
    let mutable = try #require(copy.mutableCopy() as? SKMutablePayment)
    mutable.quantity = 4
    #expect(copy.quantity == 3 && mutable.productIdentifier == "p")
    #expect(discount.identifier == "offer" && discount.keyIdentifier == "key")
    #expect(discount.signature == "s" && discount.timestamp == 5)
    let _: UUID = discount.nonce
  }

  @Test("The download")
  func download() {
    let download = SKDownload()
    let _: KeyPath<SKDownload, SKDownloadState> = \.state
    let _: KeyPath<SKDownload, SKDownloadState> = \.downloadState
    let _: KeyPath<SKDownload, String> = \.contentIdentifier
    let _: KeyPath<SKDownload, URL?> = \.contentURL
    let _: KeyPath<SKDownload, Int64> = \.contentLength
    let _: KeyPath<SKDownload, Int64> = \.expectedContentLength
    let _: KeyPath<SKDownload, String> = \.contentVersion
    let _: KeyPath<SKDownload, Float> = \.progress
    let _: KeyPath<SKDownload, TimeInterval> = \.timeRemaining
    let _: KeyPath<SKDownload, (any Error)?> = \.error
    let _: KeyPath<SKDownload, SKPaymentTransaction> = \.transaction
    let _: (String) -> URL? = SKDownload.contentURL(forProductID:)
    let _: (String) -> Void = SKDownload.deleteContent(forProductID:)
    #expect(download.timeRemaining == SKDownloadTimeRemainingUnknown)
    #expect(SKDownloadTimeRemainingUnknown == -1)
    let states: [SKDownloadState] = [.waiting, .active, .paused, .finished, .failed, .cancelled]
    #expect(states.map(\.rawValue) == Array(0...5))
  }

  @Test("The product, its subscription and its discounts")
  func product() {
    let product = SKProduct()
    let _: KeyPath<SKProduct, String> = \.localizedDescription
    let _: KeyPath<SKProduct, String> = \.localizedTitle
    let _: KeyPath<SKProduct, NSDecimalNumber> = \.price
    let _: KeyPath<SKProduct, Locale> = \.priceLocale
    let _: KeyPath<SKProduct, String> = \.productIdentifier
    let _: KeyPath<SKProduct, Bool> = \.isDownloadable
    let _: KeyPath<SKProduct, Bool> = \.downloadable
    let _: KeyPath<SKProduct, [NSNumber]> = \.downloadContentLengths
    let _: KeyPath<SKProduct, [NSNumber]> = \.contentLengths
    let _: KeyPath<SKProduct, String> = \.downloadContentVersion
    let _: KeyPath<SKProduct, String> = \.contentVersion
    let _: KeyPath<SKProduct, Bool> = \.isFamilyShareable
    let _: KeyPath<SKProduct, SKProductSubscriptionPeriod?> = \.subscriptionPeriod
    let _: KeyPath<SKProduct, SKProductDiscount?> = \.introductoryPrice
    let _: KeyPath<SKProduct, String?> = \.subscriptionGroupIdentifier
    let _: KeyPath<SKProduct, [SKProductDiscount]> = \.discounts
    #expect(product.subscriptionPeriod == nil && product.discounts.isEmpty)
    let units: [SKProduct.PeriodUnit] = [.day, .week, .month, .year]
    #expect(units.map(\.rawValue) == [0, 1, 2, 3])
    let period = SKProductSubscriptionPeriod(numberOfUnits: 3, unit: .month)
    let _: KeyPath<SKProductSubscriptionPeriod, Int> = \.numberOfUnits
    let _: KeyPath<SKProductSubscriptionPeriod, SKProduct.PeriodUnit> = \.unit
    #expect(period.numberOfUnits == 3 && period.unit == .month)
    let _: KeyPath<SKProductDiscount, NSDecimalNumber> = \.price
    let _: KeyPath<SKProductDiscount, Locale> = \.priceLocale
    let _: KeyPath<SKProductDiscount, String?> = \.identifier
    let _: KeyPath<SKProductDiscount, SKProductSubscriptionPeriod> = \.subscriptionPeriod
    let _: KeyPath<SKProductDiscount, Int> = \.numberOfPeriods
    let _: KeyPath<SKProductDiscount, SKProductDiscount.PaymentMode> = \.paymentMode
    let _: KeyPath<SKProductDiscount, SKProductDiscount.`Type`> = \.type
    let modes: [SKProductDiscount.PaymentMode] = [.payAsYouGo, .payUpFront, .freeTrial]
    #expect(modes.map(\.rawValue) == [0, 1, 2])
    let types: [SKProductDiscount.`Type`] = [.introductory, .subscription]
    #expect(types.map(\.rawValue) == [0, 1])
  }

  @Test("Requests and their responses")
  func requests() throws {
    let request = SKProductsRequest(productIdentifiers: ["a"] as Set<String>)
    let _: ReferenceWritableKeyPath<SKRequest, (any SKRequestDelegate)?> = \.delegate
    let _: () -> Void = request.start
    let _: () -> Void = request.cancel
    final class Least: NSObject, SKProductsRequestDelegate, SKStoreProductViewControllerDelegate {
      func productsRequest(
        _ request: SKProductsRequest, didReceive response: SKProductsResponse
      ) {}
    }
    let least = Least()
    request.delegate = least
    #expect(request.delegate === least)
    let delegate: any SKProductsRequestDelegate = least
    let _: (SKRequest) -> Void = delegate.requestDidFinish(_:)
    let _: (SKRequest, any Error) -> Void = delegate.request(_:didFailWithError:)
    let _: KeyPath<SKProductsResponse, [SKProduct]> = \.products
    let _: KeyPath<SKProductsResponse, [String]> = \.invalidProductIdentifiers
    let receipt = SKReceiptRefreshRequest(
      receiptProperties: [
        SKReceiptPropertyIsExpired: true, SKReceiptPropertyIsRevoked: false,
        SKReceiptPropertyIsVolumePurchase: false,
      ])
    let properties: [String: Any]? = receipt.receiptProperties
    #expect(properties?.count == 3)
    #expect(SKReceiptRefreshRequest(receiptProperties: nil).receiptProperties == nil)
    let _: () -> Void = SKTerminateForInvalidReceipt
    let page = SKStoreProductViewController()
    let _: (any SKStoreProductViewControllerDelegate)? = page.delegate
    page.delegate = least
    #expect(page.delegate === least)
    let keys = [
      SKStoreProductParameterITunesItemIdentifier, SKStoreProductParameterProductIdentifier,
      SKStoreProductParameterCustomProductPageIdentifier, SKStoreProductParameterAffiliateToken,
      SKStoreProductParameterCampaignToken, SKStoreProductParameterProviderToken,
      SKStoreProductParameterAdvertisingPartnerToken,
    ]
    #expect(Set(keys).count == 7)
    let _: KeyPath<SKStorefront, String> = \.countryCode
    let _: KeyPath<SKStorefront, String> = \.identifier
  }

  @Test("Error codes have Apple's numbers, in Apple's order")
  func errors() {
    let codes: [SKError.Code] = [
      .unknown, .clientInvalid, .paymentCancelled, .paymentInvalid, .paymentNotAllowed,
      .storeProductNotAvailable, .cloudServicePermissionDenied,
      .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked, .privacyAcknowledgementRequired,
      .unauthorizedRequestData, .invalidOfferIdentifier, .invalidSignature, .missingOfferParams,
      .invalidOfferPrice, .overlayCancelled, .overlayInvalidConfiguration, .overlayTimeout,
      .ineligibleForOffer, .unsupportedPlatform, .overlayPresentedInBackgroundScene,
    ]
    #expect(codes.map(\.rawValue) == Array(0...20))
    #expect(SKErrorDomain == "SKErrorDomain" && SKError.errorDomain == SKErrorDomain)
    let error: any Error = SKError(.paymentCancelled)
    #expect((error as NSError).domain == SKErrorDomain && (error as NSError).code == 2)
    #expect((error as? SKError)?.code == .paymentCancelled)
    do {
      throw error
    } catch SKError.paymentCancelled {
    } catch {
      Issue.record("\(error) is not caught by its name")
    }
  }

  @Test("Types that client code uses and Foundation on Linux does not have")
  func foundation() {
    let formatter = DateComponentsFormatter()
    formatter.unitsStyle = .full
    formatter.allowedUnits = [.month]
    #expect(formatter.string(from: DateComponents(month: 3, day: 1)) == "3 months")
    let dictionary = NSMutableDictionary()
    dictionary.setValue(1, forKey: "a")
    #expect(dictionary["a"] as? Int == 1)
    let _: URLSession.Type = URLSession.self
  }
}

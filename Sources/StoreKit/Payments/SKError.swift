import AppUpdate
import HostedContent

/// The domain of StoreKit's errors.
public let SKErrorDomain = "SKErrorDomain"

/// An error in StoreKit's domain; network errors are in `NSURLErrorDomain` instead.
///
/// `errorUserInfo` has a description, a recovery suggestion, and the engine's error as the
/// underlying error.
public struct SKError: _BridgedStoredNSError {
  /// The error as an `NSError`.
  public let _nsError: NSError

  /// Wraps an error of this domain.
  public init(_nsError error: NSError) { _nsError = error }

  /// StoreKit's domain.
  public static var _nsErrorDomain: String { SKErrorDomain }

  /// StoreKit's domain.
  public static var errorDomain: String { SKErrorDomain }

  /// The error's code; `unknown` for a number without a name, which `errorCode` returns.
  public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

  // Foundation's default implementations hash the NSError, which recurses forever on Linux.
  /// Hashes the domain and the number.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(_nsError.domain)
    hasher.combine(_nsError.code)
  }

  /// The hash of the domain and the number.
  public var hashValue: Int {
    var hasher = Hasher()
    hash(into: &hasher)
    return hasher.finalize()
  }

  /// The codes of StoreKit's errors.
  public enum Code: Int, _ErrorCodeProtocol, Sendable {
    /// The error type of these codes.
    public typealias _ErrorType = SKError

    case unknown = 0
    case clientInvalid = 1
    case paymentCancelled = 2
    case paymentInvalid = 3
    case paymentNotAllowed = 4
    case storeProductNotAvailable = 5
    case cloudServicePermissionDenied = 6
    case cloudServiceNetworkConnectionFailed = 7
    case cloudServiceRevoked = 8
    case privacyAcknowledgementRequired = 9
    case unauthorizedRequestData = 10
    case invalidOfferIdentifier = 11
    case invalidSignature = 12
    case missingOfferParams = 13
    case invalidOfferPrice = 14
    case overlayCancelled = 15
    case overlayInvalidConfiguration = 16
    case overlayTimeout = 17
    case ineligibleForOffer = 18
    case unsupportedPlatform = 19
    case overlayPresentedInBackgroundScene = 20
  }

  static func make(_ code: Code, _ userInfo: [String: Any]) -> SKError {
    SKError(_nsError: NSError(domain: SKErrorDomain, code: code.rawValue, userInfo: userInfo))
  }

  static func make(_ code: Code, _ message: String, remedy: String) -> SKError {
    make(code, [NSLocalizedDescriptionKey: message, NSLocalizedRecoverySuggestionErrorKey: remedy])
  }

  /// The error does not have a specific code.
  public static var unknown: Code { .unknown }
  /// The client is not allowed to do this.
  public static var clientInvalid: Code { .clientInvalid }
  /// The buyer cancelled the payment.
  public static var paymentCancelled: Code { .paymentCancelled }
  /// The payment has an invalid parameter.
  public static var paymentInvalid: Code { .paymentInvalid }
  /// The account is not allowed to buy it.
  public static var paymentNotAllowed: Code { .paymentNotAllowed }
  /// The product is not available in this store or storefront.
  public static var storeProductNotAvailable: Code { .storeProductNotAvailable }
  /// The store service requires other credentials.
  public static var cloudServicePermissionDenied: Code { .cloudServicePermissionDenied }
  /// The store service cannot be reached.
  public static var cloudServiceNetworkConnectionFailed: Code {
    .cloudServiceNetworkConnectionFailed
  }
  /// The store service revoked a permission.
  public static var cloudServiceRevoked: Code { .cloudServiceRevoked }
  /// The buyer must accept a privacy notice first.
  public static var privacyAcknowledgementRequired: Code { .privacyAcknowledgementRequired }
  /// The payment has `requestData`, which is reserved.
  public static var unauthorizedRequestData: Code { .unauthorizedRequestData }
  /// The offer identifier is invalid.
  public static var invalidOfferIdentifier: Code { .invalidOfferIdentifier }
  /// The discount's signature is invalid.
  public static var invalidSignature: Code { .invalidSignature }
  /// The discount lacks a parameter.
  public static var missingOfferParams: Code { .missingOfferParams }
  /// The offer's price is invalid.
  public static var invalidOfferPrice: Code { .invalidOfferPrice }
  /// An overlay was cancelled; not used here.
  public static var overlayCancelled: Code { .overlayCancelled }
  /// An overlay's configuration is invalid; not used here.
  public static var overlayInvalidConfiguration: Code { .overlayInvalidConfiguration }
  /// An overlay timed out; not used here.
  public static var overlayTimeout: Code { .overlayTimeout }
  /// The account is not eligible for the offer.
  public static var ineligibleForOffer: Code { .ineligibleForOffer }
  /// The platform does not support this.
  public static var unsupportedPlatform: Code { .unsupportedPlatform }
  /// An overlay was presented in a background scene; not used here.
  public static var overlayPresentedInBackgroundScene: Code { .overlayPresentedInBackgroundScene }
}

/// Converts the engine's errors to StoreKit's errors.
extension ContentError {
  /// The error of a download, request or restore; network errors are in `NSURLErrorDomain`.
  var storeKitError: any Error {
    guard let code = networkCode else { return skError }
    return URLError(code, userInfo: userInfo)
  }

  /// The error of a transaction; always in StoreKit's domain.
  var skError: SKError { .make(skCode, userInfo) }

  private var userInfo: [String: Any] {
    [
      NSLocalizedDescriptionKey: errorDescription ?? message,
      NSLocalizedRecoverySuggestionErrorKey: remedy, NSUnderlyingErrorKey: self,
    ]
  }

  private var skCode: SKError.Code {
    switch code {
    case .stopped, .purchaseInterrupted: .paymentCancelled
    case .paymentInvalid, .identifierInvalid: .paymentInvalid
    case .notEntitled, .purchaseDeclined, .purchaseRevoked, .notForSale, .voucherRefused:
      .paymentNotAllowed
    case .productUnknown, .storefrontRefused: .storeProductNotAvailable
    case .accessDenied: .cloudServicePermissionDenied
    case .rootMissing, .rootMismatch, .insecureConnectionRefused, .updateRequired, .usage:
      .clientInvalid
    default: group == .network ? .cloudServiceNetworkConnectionFailed : .unknown
    }
  }

  /// The code in `NSURLErrorDomain`; nil unless it is an error of network or server.
  ///
  /// Uses the names of `URLError`, because Foundation's global constants for TLS are off by one on
  /// Linux.
  private var networkCode: URLError.Code? {
    switch code {
    case .connectionTimedOut, .transferStalled, .timedOut: .timedOut
    case .hostNotFound: .cannotFindHost
    case .connectionRefused, .proxyFailed: .cannotConnectToHost
    case .connectionLost: .networkConnectionLost
    case .secureConnectionFailed: .secureConnectionFailed
    case .certificateUntrusted: .serverCertificateUntrusted
    case .accessDenied: .userCancelledAuthentication
    case .tooManyRedirects, .redirectRefused: .httpTooManyRedirects
    case .serverFailed, .serverBusy, .requestRefused, .answerUnusable: .badServerResponse
    default: group == .network ? .notConnectedToInternet : nil
    }
  }

  // MARK: The host

  static let isOpenAlready = ContentError(
    .usage, "StoreKit is already configured with a library",
    remedy: "Configure it once, before other calls, or call close() on the queue first")

  static let isBeingOpened = ContentError(
    .usage, "Cannot use the queue while this thread is opening its library",
    remedy: "In StoreService.events(), only add observers. Use the queue after it is open")

  static let wasClosed = ContentError(
    .stopped, "The queue was closed while its library was being opened",
    remedy: "Configure it again")

  static let isClosed = ContentError(
    .stopped, "The queue is closed", remedy: "Create another queue with its configuration")
}

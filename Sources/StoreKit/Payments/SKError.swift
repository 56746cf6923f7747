public import Foundation

/// The domain of StoreKit's errors.
public let SKErrorDomain = "SKErrorDomain"

/// An error of StoreKit's own domain; failures of the network come in `NSURLErrorDomain` instead.
///
/// `errorUserInfo` holds a description, what can be done, and the engine's error as the underlying
/// one.
public struct SKError: _BridgedStoredNSError {
  /// The error as Foundation has it.
  public let _nsError: NSError

  /// Wraps an error of this domain.
  public init(_nsError error: NSError) { _nsError = error }

  /// StoreKit's domain.
  public static var _nsErrorDomain: String { SKErrorDomain }

  /// StoreKit's domain.
  public static var errorDomain: String { SKErrorDomain }

  /// The error's code; `unknown` for a number that has no name here, which `errorCode` still is.
  public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

  // Foundation's defaults of both hash the NSError, which on Linux calls itself without end.
  /// Hashes domain and number.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(_nsError.domain)
    hasher.combine(_nsError.code)
  }

  /// The hash of domain and number.
  public var hashValue: Int {
    var hasher = Hasher()
    hash(into: &hasher)
    return hasher.finalize()
  }

  /// The numbers of StoreKit's errors.
  public enum Code: Int, _ErrorCodeProtocol, Sendable {
    /// What the number is of.
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
}

extension SKError {
  /// The failure has no number of its own.
  public static var unknown: Code { .unknown }
  /// This client may not do it.
  public static var clientInvalid: Code { .clientInvalid }
  /// The buyer took the payment back.
  public static var paymentCancelled: Code { .paymentCancelled }
  /// The payment has a parameter that is none.
  public static var paymentInvalid: Code { .paymentInvalid }
  /// The account may not buy it.
  public static var paymentNotAllowed: Code { .paymentNotAllowed }
  /// The store does not offer the product there.
  public static var storeProductNotAvailable: Code { .storeProductNotAvailable }
  /// The seller wants other credentials.
  public static var cloudServicePermissionDenied: Code { .cloudServicePermissionDenied }
  /// The seller cannot be reached.
  public static var cloudServiceNetworkConnectionFailed: Code {
    .cloudServiceNetworkConnectionFailed
  }
  /// The seller took a permission back.
  public static var cloudServiceRevoked: Code { .cloudServiceRevoked }
  /// The buyer has to agree to something first.
  public static var privacyAcknowledgementRequired: Code { .privacyAcknowledgementRequired }
  /// The payment carries `requestData`, which is reserved.
  public static var unauthorizedRequestData: Code { .unauthorizedRequestData }
  /// There is no such offer.
  public static var invalidOfferIdentifier: Code { .invalidOfferIdentifier }
  /// A discount's signature is not valid.
  public static var invalidSignature: Code { .invalidSignature }
  /// A discount lacks a parameter.
  public static var missingOfferParams: Code { .missingOfferParams }
  /// An offer's price is not valid.
  public static var invalidOfferPrice: Code { .invalidOfferPrice }
  /// An overlay was cancelled; not used here.
  public static var overlayCancelled: Code { .overlayCancelled }
  /// An overlay's configuration is wrong; not used here.
  public static var overlayInvalidConfiguration: Code { .overlayInvalidConfiguration }
  /// An overlay took too long; not used here.
  public static var overlayTimeout: Code { .overlayTimeout }
  /// The account cannot have the offer.
  public static var ineligibleForOffer: Code { .ineligibleForOffer }
  /// The system cannot do it.
  public static var unsupportedPlatform: Code { .unsupportedPlatform }
  /// An overlay has no scene; not used here.
  public static var overlayPresentedInBackgroundScene: Code { .overlayPresentedInBackgroundScene }
}

import Foundation
import HostedContent

/// The engine's errors in StoreKit's words.
extension ContentError {
  /// The error as a download, a request or a restore reports it: the network's in `NSURLErrorDomain`.
  var storeKitError: any Error {
    guard let code = networkCode else { return skError }
    return URLError(_nsError: NSError(domain: NSURLErrorDomain, code: code, userInfo: userInfo))
  }

  /// The error as a transaction reports it: always of StoreKit's domain.
  var skError: SKError { .make(skCode, userInfo) }

  private var userInfo: [String: Any] {
    [
      NSLocalizedDescriptionKey: errorDescription ?? message,
      NSLocalizedRecoverySuggestionErrorKey: remedy, NSUnderlyingErrorKey: self,
    ]
  }

  private var skCode: SKError.Code {
    switch code {
    case .stopped: .paymentCancelled
    case .paymentInvalid, .identifierInvalid: .paymentInvalid
    case .notEntitled: .paymentNotAllowed
    case .productUnknown, .storefrontRefused: .storeProductNotAvailable
    case .accessDenied: .cloudServicePermissionDenied
    case .rootMissing, .updateRequired, .usage: .clientInvalid
    default: group == .network ? .cloudServiceNetworkConnectionFailed : .unknown
    }
  }

  /// The number in `NSURLErrorDomain`; nil for what is no failure of network or server.
  private var networkCode: Int? {
    switch code {
    case .connectionTimedOut, .transferStalled, .timedOut: NSURLErrorTimedOut
    case .hostNotFound: NSURLErrorCannotFindHost
    case .connectionRefused, .proxyFailed: NSURLErrorCannotConnectToHost
    case .connectionLost: NSURLErrorNetworkConnectionLost
    case .secureConnectionFailed: NSURLErrorSecureConnectionFailed
    case .certificateUntrusted: NSURLErrorServerCertificateUntrusted
    case .accessDenied: NSURLErrorUserCancelledAuthentication
    case .tooManyRedirects, .redirectRefused: NSURLErrorHTTPTooManyRedirects
    case .serverFailed, .serverBusy, .requestRefused, .answerUnusable: NSURLErrorBadServerResponse
    default: group == .network ? NSURLErrorNotConnectedToInternet : nil
    }
  }
}

extension SKError {
  static func make(_ code: Code, _ userInfo: [String: Any]) -> SKError {
    SKError(_nsError: NSError(domain: SKErrorDomain, code: code.rawValue, userInfo: userInfo))
  }

  /// An error of this module's own making.
  static func make(_ code: Code, _ message: String, remedy: String) -> SKError {
    make(
      code,
      [NSLocalizedDescriptionKey: message, NSLocalizedRecoverySuggestionErrorKey: remedy])
  }
}

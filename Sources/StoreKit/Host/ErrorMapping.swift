import Foundation
import HostedContent

/// The engine's errors in StoreKit's words.
extension ContentError {
  /// The error as a download, a request or a restore reports it: the network's in
  /// `NSURLErrorDomain`.
  var storeKitError: any Error {
    guard let code = networkCode else { return skError }
    return URLError(code, userInfo: userInfo)
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
    case .rootMissing, .rootMismatch, .insecureConnectionRefused, .updateRequired, .usage:
      .clientInvalid
    default: group == .network ? .cloudServiceNetworkConnectionFailed : .unknown
    }
  }

  /// The number in `NSURLErrorDomain`; nil for what is no failure of network or server.
  ///
  /// By `URLError`'s names: Foundation's global constants for TLS are one off on Linux.
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

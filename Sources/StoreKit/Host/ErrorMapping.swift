import AppUpdate
import Foundation
import HostedContent

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
}

extension SKError {
  static func make(_ code: Code, _ userInfo: [String: Any]) -> SKError {
    SKError(_nsError: NSError(domain: SKErrorDomain, code: code.rawValue, userInfo: userInfo))
  }

  /// Creates an error of this module.
  static func make(_ code: Code, _ message: String, remedy: String) -> SKError {
    make(
      code,
      [NSLocalizedDescriptionKey: message, NSLocalizedRecoverySuggestionErrorKey: remedy])
  }
}

/// Errors of the host.
extension ContentError {
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

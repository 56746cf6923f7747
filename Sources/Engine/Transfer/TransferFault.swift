import HostedHTTPValues
import FoundationEssentials

/// The reason why a request failed; it determines the next attempt.
package struct TransferFault: Error, Hashable, Sendable {
  /// The kind of failure.
  package let kind: Kind
  /// The message of libcurl or of the server; it contains no secrets.
  package let detail: String
  /// The delay that the server asks for, in seconds, or nil if it does not ask.
  package var retryAfter: Double?

  package init(_ kind: Kind, _ detail: String = "", retryAfter: Double? = nil) {
    self.kind = kind
    self.detail = detail
    self.retryAfter = retryAfter
  }

  /// The kinds of failures.
  package enum Kind: Hashable, Sendable {
    // Before the answer.
    case cancelled, unusableURL, unresolved, refused, connectTimeout, secureConnection, certificate
    case handshakeTimeout, hostName, clientCertificate, authorities, expired
    case proxy, proxyRefused(Int), network, tooManyFiles, outOfMemory
    // During the answer.
    case garbled, stalled, cutShort, deadline, headersTooLong, bodyTooLong
    // In the answer.
    case status(Int), redirectRefused, tooManyRedirects
    case encoded(String), unexpectedType(String), wrongLength(Int64)
    case rangeIgnored, rangeUnclear, rangeElsewhere, rangeRefused, otherValidator
    // In the digest.
    case damaged
  }

  /// What to try next.
  enum RetryAction: Hashable, Sendable {
    /// Nothing: the request itself cannot succeed.
    case none
    /// Another mirror at once, or the same mirror later.
    case otherMirror
    /// Another mirror at once; the same mirror once more, if the signed catalog lists the file.
    case elsewhere
    /// The same request later.
    case later
    /// The same mirror at once, with a request for the whole file instead of a range.
    case wholeFile
    /// The same mirror at once, without a validator.
    case plainRange
  }

  /// What to try next; only this property decides it.
  var retryAction: RetryAction {
    switch kind {
    case .cancelled, .unusableURL, .deadline, .bodyTooLong: .none
    case .unresolved, .refused, .connectTimeout, .handshakeTimeout, .secureConnection, .proxy,
      .damaged, .wrongLength, .unexpectedType, .encoded:
      .otherMirror
    case .certificate, .hostName, .clientCertificate, .authorities, .proxyRefused,
      .redirectRefused, .tooManyRedirects:
      .elsewhere
    case .status(let status): Self.retryAction(ofStatus: status)
    case .expired, .network, .tooManyFiles, .outOfMemory, .garbled, .stalled, .cutShort,
      .headersTooLong:
      .later
    case .rangeIgnored, .rangeUnclear, .rangeElsewhere, .rangeRefused: .wholeFile
    case .otherValidator: .plainRange
    }
  }

  /// Whether the same request would fail again until somebody changes something.
  var isLasting: Bool { retryAction == .none || retryAction == .elsewhere }

  /// Whether no request reaches the host, so that all transfers should wait.
  ///
  /// Refusals (`isRefusal`) have a separate pause.
  var concernsHost: Bool {
    switch kind {
    case .unresolved, .refused, .connectTimeout, .handshakeTimeout, .secureConnection,
      .certificate, .hostName, .clientCertificate, .authorities, .proxy, .proxyRefused:
      true
    default: false
    }
  }

  /// Whether the connection or the address may be the cause; the next attempt then needs new ones.
  var mayBeOfAddress: Bool {
    switch kind {
    case .refused, .connectTimeout, .secureConnection, .certificate, .network, .garbled, .stalled,
      .cutShort:
      true
    default: false
    }
  }

  /// Whether the host currently refuses all requests.
  var isRefusal: Bool {
    if case .status(let status) = kind { Self.isRefusal(status) } else { false }
  }

  /// Whether a host that answers with `status` refuses all requests.
  static func isRefusal(_ status: Int) -> Bool { status == 429 || status == 503 }

  private static func retryAction(ofStatus status: Int) -> RetryAction {
    switch status {
    case _ where isTemporary(status): .later
    case 401, 403, 404, 407, 410, 451: .elsewhere
    default: .otherMirror
    }
  }

  /// Whether the same request may succeed later according to `status`.
  static func isTemporary(_ status: Int) -> Bool {
    switch status {
    case 408, 421, 425, 429, 500...599: true
    default: false
    }
  }

  /// A short name for statistics, such as `status 503`; usually the words of the kind.
  package var name: String {
    switch kind {
    case .status(let status): "status \(status)"
    case .proxyRefused(let status): "proxy status \(status)"
    case .unusableURL: "unusable URL"
    case .rangeElsewhere: "other range"
    default:
      "\(kind)".prefix { $0 != "(" }.reduce(into: "") { words, letter in
        words += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)"
      }
    }
  }
}

extension TransferFault {
  /// Creates the fault for an answer's status, with the delay that the server asks for.
  init(statusOf head: HTTPHead, now: Date) {
    self.init(
      .status(head.status), retryAfter: RetryPolicy.retryAfter(head["retry-after"], now: now))
  }

  /// Creates the fault for a final answer without the file.
  init(_ response: TransferResponse) {
    // nginx answers with 400 instead of failing the handshake.
    let words = "No required SSL certificate was sent"
    let isAboutCertificate =
      response.status == 400 && String(decoding: response.body, as: UTF8.self).contains(words)
    self.init(isAboutCertificate ? .clientCertificate : .status(response.status))
  }
}

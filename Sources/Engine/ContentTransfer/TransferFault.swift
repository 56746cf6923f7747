package import ContentModel

/// The reason why a request failed.
///
/// It determines the next attempt.
package struct TransferFault: Error, Hashable, Sendable {
  /// The kind of failure.
  package let kind: Kind
  /// The message of libcurl or of the server.
  ///
  /// It contains no secrets.
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
    case proxy, proxyRefused(Int), network, tooManyFiles
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
  package enum RetryAction: Hashable, Sendable {
    /// Nothing: the request itself cannot succeed.
    case none
    /// Another mirror at once, or the same mirror later.
    case otherMirror
    /// Another mirror at once.
    ///
    /// The same mirror once more, if the signed catalog lists the file.
    case elsewhere
    /// The same request later.
    case later
    /// The same mirror at once, with a request for the whole file instead of a range.
    case wholeFile
    /// The same mirror at once, without a validator.
    case plainRange
  }

  /// What to try next.
  ///
  /// Only this property decides it.
  package var retryAction: RetryAction {
    switch kind {
    case .cancelled, .unusableURL, .deadline, .bodyTooLong: .none
    case .unresolved, .refused, .connectTimeout, .handshakeTimeout, .secureConnection, .proxy,
      .damaged, .wrongLength, .unexpectedType, .encoded:
      .otherMirror
    case .certificate, .hostName, .clientCertificate, .authorities, .proxyRefused,
      .redirectRefused, .tooManyRedirects:
      .elsewhere
    case .status(let status): Self.retryAction(ofStatus: status)
    case .expired, .network, .tooManyFiles, .garbled, .stalled, .cutShort, .headersTooLong: .later
    case .rangeIgnored, .rangeUnclear, .rangeElsewhere, .rangeRefused: .wholeFile
    case .otherValidator: .plainRange
    }
  }

  /// Whether the same request would fail again until somebody changes something.
  package var isLasting: Bool { retryAction == .none || retryAction == .elsewhere }

  /// Whether no request reaches the host, so that all transfers should wait.
  ///
  /// Refusals (`isRefusal`) have a separate pause.
  package var concernsHost: Bool {
    switch kind {
    case .unresolved, .refused, .connectTimeout, .handshakeTimeout, .secureConnection,
      .certificate, .hostName, .clientCertificate, .authorities, .proxy, .proxyRefused:
      true
    default: false
    }
  }

  private static func retryAction(ofStatus status: Int) -> RetryAction {
    switch status {
    case _ where isTemporary(status): .later
    case 401, 403, 404, 407, 410, 451: .elsewhere
    default: .otherMirror
    }
  }

  /// Whether the same request may succeed later according to `status`.
  package static func isTemporary(_ status: Int) -> Bool {
    switch status {
    case 408, 421, 425, 429, 500...599: true
    default: false
    }
  }

  /// A short name for statistics, such as `status 503`.
  package var name: String {
    switch kind {
    case .status(let status): "status \(status)"
    case .proxyRefused(let status): "proxy status \(status)"
    case .handshakeTimeout: "handshake timeout"
    case .hostName: "host name"
    case .clientCertificate: "client certificate"
    case .encoded: "encoded"
    case .unexpectedType: "unexpected type"
    case .wrongLength: "wrong length"
    case .connectTimeout: "connect timeout"
    case .tooManyFiles: "too many files"
    case .secureConnection: "secure connection"
    case .unusableURL: "unusable URL"
    case .cutShort: "cut short"
    case .headersTooLong: "headers too long"
    case .bodyTooLong: "body too long"
    case .redirectRefused: "redirect refused"
    case .tooManyRedirects: "too many redirects"
    case .rangeIgnored: "range ignored"
    case .rangeUnclear: "range unclear"
    case .rangeElsewhere: "other range"
    case .rangeRefused: "range refused"
    case .otherValidator: "other validator"
    default: "\(kind)"
    }
  }
}

extension ContentError {
  /// Creates the error that ends a transfer of `subject` from `url`.
  package init(_ fault: TransferFault, from url: WebURL, subject: String) {
    let (code, message, remedy) = Self.words(fault, url)
    self.init(
      code, message, remedy: remedy, subject: subject,
      cause: fault.detail.isEmpty ? nil : fault.detail.printable(limit: 500))
  }

  private static func words(_ fault: TransferFault, _ url: WebURL) -> (Code, String, String) {
    let again = "Try again later. Fetched data is kept"
    let owner = "Ask the store's owner to check the web server"
    let network = "Check the network and the store's address"
    switch fault.kind {
    case .cancelled:
      return (
        .stopped, "The transfer of \(url) was stopped", "Start it again. Fetched data is kept"
      )
    case .expired:
      return (.accessDenied, "\(url) expired before the request was sent", again)
    case .unusableURL:
      return (.usage, "\(url) is not a valid URL", "Use an http:// or https:// URL")
    case .unresolved:
      return (.hostNotFound, "Cannot resolve the host \(url.host)", network)
    case .refused:
      return (
        .connectionRefused, "Cannot connect to \(url.host) port \(url.port): connection refused",
        network
      )
    case .connectTimeout:
      return (
        .connectionTimedOut, "Cannot connect to \(url.host) port \(url.port): timed out", network
      )
    case .handshakeTimeout:
      return (
        .connectionTimedOut,
        "The TLS handshake with \(url.host) port \(url.port) timed out",
        "Check the network. With a VPN or tunnel, an MTU that is too large can drop long packets"
      )
    case .hostName:
      return (
        .secureConnectionFailed, "The server has no certificate for the host name \(url.host)",
        "Use the server's host name in the address, not its IP address or another name"
      )
    case .clientCertificate:
      return (
        .accessDenied, "\(url.host) requires a client certificate, which is not supported",
        "Ask the store's owner for another kind of access, such as a token"
      )
    case .authorities:
      return (
        .certificateUntrusted, "Cannot read the file of certificate authorities",
        "Check that the file exists and contains certificates in PEM"
      )
    case .secureConnection where fault.isAnswerWithoutTLS:
      return (
        .secureConnectionFailed, "\(url.host) port \(url.port) does not use TLS",
        "If the server uses plain HTTP on this port, use http:// in its address"
      )
    case .secureConnection:
      return (
        .secureConnectionFailed, "Cannot establish a secure connection to \(url.host)",
        "Check that the server uses TLS on this port, version 1.2 or newer"
      )
    case .certificate:
      return (
        .certificateUntrusted, "The certificate of \(url.host) is not trusted",
        "Check the address, the system clock and the file of certificate authorities"
      )
    case .proxy:
      return (
        .proxyFailed, "The connection to \(url.host) through the proxy failed",
        "Check the proxy's address and that the proxy is running"
      )
    case .proxyRefused(407), .status(407):
      return (
        .accessDenied, "The proxy requires a user name and a password (status 407)",
        "Add them to the proxy's address, such as http://user:password@proxy.example:3128"
      )
    case .proxyRefused(let status):
      return (
        .accessDenied, "The proxy refuses connections to \(url.host) (status \(status))",
        "Ask the proxy's owner to allow this host, or use another proxy"
      )
    case .network: return (.networkFailed, "The connection to \(url.host) failed", again)
    case .tooManyFiles:
      return (
        .tooManyFiles, "Cannot connect to \(url.host): too many open files",
        "Raise the limit of open files and try again"
      )
    case .stalled:
      return (
        .transferStalled, "The transfer of \(url) stalled",
        "\(again). If every transfer stalls, check the MTU of the network, VPN or tunnel"
      )
    case .cutShort where url.scheme == "http" && fault.detail.hasPrefix("Empty reply"):
      return (
        .connectionLost, "\(url.host) port \(url.port) closed the connection without an answer",
        "If the server uses TLS on this port, use https:// in its address. \(again)"
      )
    case .cutShort:
      return (.connectionLost, "The connection was lost while receiving \(url)", again)
    case .deadline: return (.timedOut, "The request for \(url) timed out", again)
    case .garbled where url.scheme == "http":
      return (
        .answerUnusable, "The answer for \(url) is not HTTP",
        "If the server uses TLS on this port, use https:// in its address. \(owner)"
      )
    case .garbled: return (.answerUnusable, "The answer for \(url) is not HTTP", owner)
    case .headersTooLong:
      return (.answerUnusable, "The answer for \(url) has too many headers", owner)
    case .bodyTooLong:
      return (.limitExceeded, "\(url) exceeds the size limit", owner)
    case .status(let status): return words(status, url, fault)
    case .redirectRefused:
      return (.redirectRefused, "The redirect of \(url) is not allowed", owner)
    case .tooManyRedirects:
      return (.tooManyRedirects, "\(url) has too many redirects", owner)
    case .encoded(let coding):
      let shown = coding.printable(limit: 60)
      return (.answerUnusable, "\(url) was sent with the unexpected encoding \(shown)", owner)
    case .unexpectedType(let type):
      return (
        .answerUnusable,
        "\(url) was answered with a web page (\(type.printable(limit: 60))) instead of the file",
        "Check whether the network requires a login, the store's address, and that the server "
          + "answers 404 or 403 for missing files"
      )
    case .wrongLength(let length):
      return (
        .answerUnusable, "\(url) has \(length) bytes, which differs from its signed length", owner
      )
    case .rangeIgnored, .rangeUnclear, .rangeElsewhere, .rangeRefused:
      return (.answerUnusable, "The answer for \(url) has another range than requested", owner)
    case .otherValidator:
      return (.answerUnusable, "\(url) is not the signed file", owner)
    case .damaged:
      return (
        .pieceDamaged, "Bytes of \(url) do not match the signed index",
        "Ask the store's owner to publish the package again, and then start the download again"
      )
    }
  }

  private static func words(_ status: Int, _ url: WebURL, _ fault: TransferFault)
    -> (Code, String, String)
  {
    let answer = "\(url) was answered with status \(status)"
    switch status {
    case 404, 410:
      return (.storeMissing, answer, "Ask the store's owner to publish it again")
    case 401, 403:
      return (.accessDenied, answer, "Check the credentials for this host")
    case 429:
      return (.serverBusy, answer, "Try again later. Fetched data is kept")
    case 503 where fault.retryAfter != nil:
      return (.serverBusy, answer, "Try again later. Fetched data is kept")
    case 500...599:
      return (.serverFailed, answer, "Try again later. Fetched data is kept")
    // nginx answers plain HTTP on a TLS port with 400.
    case 400 where url.scheme == "http":
      return (
        .requestRefused, answer,
        "Check the store's address. If the server uses TLS on this port, use https:// in it"
      )
    default:
      return (.requestRefused, answer, "Check the store's address")
    }
  }
}

extension TransferFault {
  /// Whether a server answered the TLS handshake with something else.
  ///
  /// libcurl only reports this in messages of OpenSSL.
  fileprivate var isAnswerWithoutTLS: Bool {
    ["wrong version number", "packet length too long", "http request"].contains(
      where: detail.contains)
  }

  /// Creates the fault for a final answer without the file.
  init(_ response: HTTPResponse) {
    // nginx answers with 400 instead of failing the handshake.
    let words = "No required SSL certificate was sent"
    let isAboutCertificate =
      response.status == 400 && String(decoding: response.body, as: UTF8.self).contains(words)
    self.init(isAboutCertificate ? .clientCertificate : .status(response.status))
  }
}

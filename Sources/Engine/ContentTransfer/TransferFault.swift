package import ContentModel

/// Why one request did not bring what was asked: a value that decides about the next attempt.
package struct TransferFault: Error, Hashable, Sendable {
  /// What happened.
  package let kind: Kind
  /// The C library's or the server's own words; no secrets.
  package let detail: String
  /// Seconds that the server asks to wait, as sent; nil when it asks for none.
  package var retryAfter: Double?

  package init(_ kind: Kind, _ detail: String = "", retryAfter: Double? = nil) {
    self.kind = kind
    self.detail = detail
    self.retryAfter = retryAfter
  }

  /// The kinds of failures.
  package enum Kind: Hashable, Sendable {
    // Before anything was answered.
    case cancelled, unusableURL, unresolved, refused, connectTimeout, secureConnection, certificate
    case handshakeTimeout, hostName, clientCertificate, authorities
    case proxy, proxyRefused(Int), network, tooManyFiles
    // While it was answered.
    case garbled, stalled, cutShort, deadline, headersTooLong, bodyTooLong
    // What was answered.
    case status(Int), redirectRefused, tooManyRedirects
    case encoded(String), unexpectedType(String), wrongLength(Int64)
    case rangeIgnored, rangeUnclear, rangeElsewhere, rangeRefused, otherValidator
    // What the digest says.
    case damaged
  }

  /// What may help.
  package enum RetryAction: Hashable, Sendable {
    /// Nothing: the request itself cannot be carried out.
    case none
    /// Another mirror at once; the same one only later.
    case otherMirror
    /// Another mirror at once; this one only if the signed catalog promises the file, and then
    /// once.
    case elsewhere
    /// The same again after a while.
    case later
    /// The same mirror at once, asked for the whole file instead of a range.
    case wholeFile
    /// The same mirror at once, without naming the version that is expected.
    case plainRange
  }

  /// What may help, decided here and nowhere else.
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
    case .network, .tooManyFiles, .garbled, .stalled, .cutShort, .headersTooLong: .later
    case .rangeIgnored, .rangeUnclear, .rangeElsewhere, .rangeRefused: .wholeFile
    case .otherValidator: .plainRange
    }
  }

  /// Whether the same request fails again until somebody changes something.
  package var isLasting: Bool { retryAction == .none || retryAction == .elsewhere }

  /// Whether no request reaches the host, so that every transfer from it should be kind; what
  /// `isRefusal` has a pause of its own.
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

  /// Whether a server means by `status` that the same request may succeed later.
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
  /// The error that ends a transfer of `subject` from `url`.
  package init(_ fault: TransferFault, from url: WebURL, subject: String) {
    let (code, message, remedy) = Self.words(fault, url)
    self.init(
      code, message, remedy: remedy, subject: subject,
      cause: fault.detail.isEmpty ? nil : fault.detail.printable(limit: 500))
  }

  private static func words(_ fault: TransferFault, _ url: WebURL) -> (Code, String, String) {
    let again = "Try again later; what was fetched is kept"
    let owner = "Ask the store's owner to look at the web server"
    let network = "Check the network and the store's address"
    switch fault.kind {
    case .cancelled:
      return (
        .stopped, "The transfer of \(url) was stopped", "Start it again; what was fetched is kept"
      )
    case .unusableURL:
      return (.usage, "\(url) cannot be used", "Use an http:// or https:// URL")
    case .unresolved:
      return (.hostNotFound, "The host \(url.host) has no address", network)
    case .refused:
      return (.connectionRefused, "\(url.host) port \(url.port) refuses connections", network)
    case .connectTimeout:
      return (.connectionTimedOut, "\(url.host) port \(url.port) did not answer in time", network)
    case .handshakeTimeout:
      return (
        .connectionTimedOut,
        "\(url.host) port \(url.port) accepted the connection, but did not finish the TLS handshake",
        "Check the network: behind a VPN or tunnel, an MTU that is too large loses long packets"
      )
    case .hostName:
      return (
        .secureConnectionFailed, "\(url.host) has no certificate for this host name",
        "Use the server's host name in the address, not its IP address or another name"
      )
    case .clientCertificate:
      return (
        .accessDenied, "\(url.host) requires a client certificate, which is not supported",
        "Ask the store's owner for another kind of access, such as a token"
      )
    case .authorities:
      return (
        .certificateUntrusted, "The file of certificate authorities cannot be read",
        "Check that the file exists, and that it contains certificates in PEM"
      )
    case .secureConnection where fault.isAnswerWithoutTLS:
      return (
        .secureConnectionFailed, "\(url.host) port \(url.port) does not use TLS",
        "If the server uses plain HTTP there, write http:// in its address"
      )
    case .secureConnection:
      return (
        .secureConnectionFailed, "No secure connection to \(url.host) could be made",
        "Check that the server offers TLS 1.2 or newer"
      )
    case .certificate:
      return (
        .certificateUntrusted, "The certificate of \(url.host) is not trusted for it",
        "Check the address, the system's clock, and the file of certificate authorities"
      )
    case .proxy:
      return (
        .proxyFailed, "The connection to \(url.host) through the proxy failed",
        "Check the proxy's address, and whether the proxy is running"
      )
    case .proxyRefused(407), .status(407):
      return (
        .accessDenied, "The proxy requires a user name and a password (status 407)",
        "Give them in the proxy's address, such as http://user:password@proxy.example:3128"
      )
    case .proxyRefused(let status):
      return (
        .accessDenied, "The proxy refuses connections to \(url.host) (status \(status))",
        "Ask the proxy's owner to allow this host, or use another proxy"
      )
    case .network: return (.networkFailed, "The connection to \(url.host) failed", again)
    case .tooManyFiles:
      return (
        .tooManyFiles, "Too many files are open for a connection to \(url.host)",
        "Raise the limit of open files and start again"
      )
    case .stalled:
      return (
        .transferStalled, "\(url) stopped sending",
        "\(again). If every transfer stalls, check the network's MTU, such as of a VPN or tunnel"
      )
    case .cutShort where url.scheme == "http" && fault.detail.hasPrefix("Empty reply"):
      return (
        .connectionLost, "\(url.host) port \(url.port) closed the connection without an answer",
        "If the server uses TLS there, write https:// in its address. \(again)"
      )
    case .cutShort: return (.connectionLost, "\(url) broke off before its end", again)
    case .deadline: return (.timedOut, "\(url) did not arrive in the time that was set", again)
    case .garbled where url.scheme == "http":
      return (
        .answerUnusable, "\(url) was not answered in HTTP",
        "If the server uses TLS there, write https:// in its address. \(owner)"
      )
    case .garbled: return (.answerUnusable, "\(url) was not answered in HTTP", owner)
    case .headersTooLong:
      return (.answerUnusable, "\(url) was answered with too many headers", owner)
    case .bodyTooLong:
      return (.limitExceeded, "\(url) has more bytes than are read", owner)
    case .status(let status): return words(status, url, fault)
    case .redirectRefused:
      return (.redirectRefused, "\(url) redirects to where it may not", owner)
    case .tooManyRedirects:
      return (.tooManyRedirects, "\(url) redirects again and again", owner)
    case .encoded(let coding):
      let shown = coding.printable(limit: 60)
      return (.answerUnusable, "\(url) was sent as \(shown), which nobody asked for", owner)
    case .unexpectedType(let type):
      return (
        .answerUnusable,
        "\(url) was answered with a web page (\(type.printable(limit: 60))) instead of the file",
        "Check whether the network requires a login, the store's address, and that the server "
          + "answers 404 or 403 for missing files"
      )
    case .wrongLength(let length):
      return (.answerUnusable, "\(url) has \(length) bytes, not those that are signed", owner)
    case .rangeIgnored, .rangeUnclear, .rangeElsewhere, .rangeRefused:
      return (.answerUnusable, "\(url) was answered with another range than asked for", owner)
    case .otherValidator:
      return (.answerUnusable, "\(url) is not the file that is signed", owner)
    case .damaged:
      return (
        .pieceDamaged, "Bytes of \(url) differ from the signed index",
        "Ask the store's owner to publish the package again; start the download again then"
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
      return (.serverBusy, answer, "Try again later; what was fetched is kept")
    case 503 where fault.retryAfter != nil:
      return (.serverBusy, answer, "Try again later; what was fetched is kept")
    case 500...599:
      return (.serverFailed, answer, "Try again later; what was fetched is kept")
    // nginx answers 400 to plain HTTP at a port with TLS.
    case 400 where url.scheme == "http":
      return (
        .requestRefused, answer,
        "Check the store's address. If the server uses TLS there, write https:// in it"
      )
    default:
      return (.requestRefused, answer, "Check the store's address")
    }
  }
}

extension TransferFault {
  /// Whether a server answered the start of TLS with something else, which libcurl has only in
  /// words of OpenSSL.
  fileprivate var isAnswerWithoutTLS: Bool {
    ["wrong version number", "packet length too long", "http request"].contains(
      where: detail.contains)
  }

  /// The fault that a final answer without the file is.
  init(_ response: HTTPResponse) {
    // nginx answers 400 instead of refusing the handshake.
    let words = "No required SSL certificate was sent"
    let isAboutCertificate =
      response.status == 400 && String(decoding: response.body, as: UTF8.self).contains(words)
    self.init(isAboutCertificate ? .clientCertificate : .status(response.status))
  }
}

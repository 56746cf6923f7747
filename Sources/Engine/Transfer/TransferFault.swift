import HostedHTTPValues
import FoundationEssentials
import HostedCCurl
package import HostedModel

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

  // MARK: From answers and libcurl

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

  /// Creates the fault for a result code of libcurl after `easy` ran `exchange`.
  init(_ code: CURLcode, of easy: EasyHandle, _ exchange: Exchange) {
    let detail = easy.detail(code)
    let isConnected = easy.seconds(CURLINFO_PRETRANSFER_TIME_T) > 0
    // The status of a proxy's answer to CONNECT.
    let proxyStatus = easy.number(CURLINFO_HTTP_CONNECTCODE)
    let kind: Kind =
      switch code {
      case _ where (400..<500).contains(proxyStatus): .proxyRefused(proxyStatus)
      case _ where proxyStatus >= 300: .proxy
      case CURLE_COULDNT_RESOLVE_HOST: .unresolved
      case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .proxy
      // libcurl has one code for a server that refuses and for a socket that cannot be created.
      case CURLE_COULDNT_CONNECT where exchange.lacksSockets: .tooManyFiles
      case CURLE_COULDNT_CONNECT: exchange.isStoreNamed(in: detail) ? .refused : .proxy
      case CURLE_OPERATION_TIMEDOUT where isConnected: .stalled
      // libcurl only reports this as text.
      case CURLE_OPERATION_TIMEDOUT where detail.hasPrefix("SSL connection"): .handshakeTimeout
      case CURLE_OPERATION_TIMEDOUT: .connectTimeout
      case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING: .cutShort
      case CURLE_OUT_OF_MEMORY: .outOfMemory
      // TLS alerts with these names have no code in libcurl.
      case _ where detail.contains("certificate required"): .clientCertificate
      case _ where detail.contains("unrecognized name"): .hostName
      case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE: .authorities
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
        CURLE_SSL_INVALIDCERTSTATUS:
        .certificate
      case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED,
        CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_CERTPROBLEM:
        .secureConnection
      case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: .garbled
      // libcurl also uses this code for an answer in HTTP/0.9.
      case CURLE_UNSUPPORTED_PROTOCOL: isConnected ? .garbled : .unusableURL
      case CURLE_URL_MALFORMAT: .unusableURL
      default: .network
      }
    self.init(kind, detail)
  }

  // MARK: As an error

  fileprivate var code: ContentError.Code {
    switch kind {
    case .cancelled: .stopped
    case .unusableURL: .usage
    case .unresolved: .hostNotFound
    case .refused: .connectionRefused
    case .connectTimeout, .handshakeTimeout: .connectionTimedOut
    case .hostName, .secureConnection: .secureConnectionFailed
    case .authorities, .certificate: .certificateUntrusted
    case .expired, .clientCertificate, .proxyRefused: .accessDenied
    case .proxy: .proxyFailed
    case .network: .networkFailed
    case .tooManyFiles: .tooManyFiles
    case .outOfMemory: .outOfMemory
    case .stalled: .transferStalled
    case .cutShort: .connectionLost
    case .deadline: .timedOut
    case .bodyTooLong: .limitExceeded
    case .redirectRefused: .redirectRefused
    case .tooManyRedirects: .tooManyRedirects
    case .damaged: .pieceDamaged
    case .garbled, .headersTooLong, .encoded, .unexpectedType, .wrongLength, .rangeIgnored,
      .rangeUnclear, .rangeElsewhere, .rangeRefused, .otherValidator:
      .answerUnusable
    case .status(404), .status(410): .storeMissing
    case .status(401), .status(403), .status(407): .accessDenied
    case .status(429): .serverBusy
    case .status(503) where retryAfter != nil: .serverBusy
    case .status(500...599): .serverFailed
    case .status: .requestRefused
    }
  }

  fileprivate func message(_ url: WebURL) -> String {
    let port = "\(url.host) port \(url.port)"
    return switch kind {
    case .cancelled: "The transfer of \(url) was stopped"
    case .expired: "\(url) expired before the request was sent"
    case .unusableURL: "\(url) is not a valid URL"
    case .unresolved: "Cannot resolve the host \(url.host)"
    case .refused: "Cannot connect to \(port): connection refused"
    case .connectTimeout: "Cannot connect to \(port): timed out"
    case .handshakeTimeout: "The TLS handshake with \(port) timed out"
    case .hostName: "The server has no certificate for the host name \(url.host)"
    case .clientCertificate:
      "\(url.host) requires a client certificate, which is not supported"
    case .authorities: "Cannot read the file of certificate authorities"
    case .secureConnection where isAnswerWithoutTLS: "\(port) does not use TLS"
    case .secureConnection: "Cannot establish a secure connection to \(url.host)"
    case .certificate: "The certificate of \(url.host) is not trusted"
    case .proxy: "The connection to \(url.host) through the proxy failed"
    case .proxyRefused(407), .status(407):
      "The proxy requires a user name and a password (status 407)"
    case .proxyRefused(let status):
      "The proxy refuses connections to \(url.host) (status \(status))"
    case .network: "The connection to \(url.host) failed"
    case .tooManyFiles: "Cannot connect to \(url.host): too many open files"
    case .outOfMemory: "libcurl cannot allocate memory for \(url)"
    case .stalled: "The transfer of \(url) stalled"
    case .cutShort where mayRequireTLS(url): "\(port) closed the connection without an answer"
    case .cutShort: "The connection was lost while receiving \(url)"
    case .deadline: "The request for \(url) timed out"
    case .garbled: "The answer for \(url) is not HTTP"
    case .headersTooLong: "The answer for \(url) has too many headers"
    case .bodyTooLong: "\(url) exceeds the size limit"
    case .status(let status): "\(url) was answered with status \(status)"
    case .redirectRefused: "The redirect of \(url) is not allowed"
    case .tooManyRedirects: "\(url) has too many redirects"
    case .encoded(let coding):
      "\(url) was sent with the unexpected encoding \(coding.printable(limit: 60))"
    case .unexpectedType(let type):
      "\(url) was answered with a web page (\(type.printable(limit: 60))) instead of the file"
    case .wrongLength(let length):
      "\(url) has \(length) bytes, which differs from its signed length"
    case .rangeIgnored, .rangeUnclear, .rangeElsewhere, .rangeRefused:
      "The answer for \(url) has another range than requested"
    case .otherValidator: "\(url) is not the signed file"
    case .damaged: "Bytes of \(url) do not match the signed index"
    }
  }

  fileprivate func remedy(_ url: WebURL) -> String {
    let again = "Try again later. Fetched data is kept"
    let owner = "Ask the store's owner to check the web server"
    let scheme = "If the server uses TLS on this port, use https:// in its address"
    return switch kind {
    case .cancelled: "Start it again. Fetched data is kept"
    case .unusableURL: "Use an http:// or https:// URL"
    case .unresolved, .refused, .connectTimeout: "Check the network and the store's address"
    case .handshakeTimeout:
      "Check the network. With a VPN or tunnel, an MTU that is too large can drop long packets"
    case .hostName:
      "Use the server's host name in the address, not its IP address or another name"
    case .clientCertificate:
      "Ask the store's owner for another kind of access, such as a token"
    case .authorities: "Check that the file exists and contains certificates in PEM"
    case .secureConnection where isAnswerWithoutTLS:
      "If the server uses plain HTTP on this port, use http:// in its address"
    case .secureConnection:
      "Check that the server uses TLS on this port, version 1.2 or newer"
    case .certificate:
      "Check the address, the system clock and the file of certificate authorities"
    case .proxy: "Check the proxy's address and that the proxy is running"
    case .proxyRefused(407), .status(407):
      "Add them to the proxy's address, such as http://user:password@proxy.example:3128"
    case .proxyRefused: "Ask the proxy's owner to allow this host, or use another proxy"
    case .tooManyFiles: "Raise the limit of open files and try again"
    case .outOfMemory: "Free memory or raise the process's limit, then try again"
    case .stalled:
      "\(again). If every transfer stalls, check the MTU of the network, VPN or tunnel"
    case .cutShort where mayRequireTLS(url): "\(scheme). \(again)"
    case .expired, .network, .cutShort, .deadline: again
    case .garbled where url.scheme == "http": "\(scheme). \(owner)"
    case .garbled, .headersTooLong, .bodyTooLong, .redirectRefused, .tooManyRedirects, .encoded,
      .wrongLength, .rangeIgnored, .rangeUnclear, .rangeElsewhere, .rangeRefused,
      .otherValidator:
      owner
    case .unexpectedType:
      "Check whether the network requires a login, the store's address, and that the server "
        + "answers 404 or 403 for missing files"
    case .status(404), .status(410): "Ask the store's owner to publish it again"
    case .status(401), .status(403): "Check the credentials for this host"
    case .status(429), .status(500...599): again
    // nginx answers plain HTTP on a TLS port with 400.
    case .status(400) where url.scheme == "http":
      "Check the store's address. If the server uses TLS on this port, use https:// in it"
    case .status: "Check the store's address"
    case .damaged:
      "Ask the store's owner to publish the package again, and then start the download again"
    }
  }

  /// Whether a server closed a plain connection without an answer.
  private func mayRequireTLS(_ url: WebURL) -> Bool {
    url.scheme == "http" && detail.hasPrefix("Empty reply")
  }

  /// Whether a server answered the TLS handshake with something else.
  ///
  /// libcurl only reports this in messages of OpenSSL.
  private var isAnswerWithoutTLS: Bool {
    ["wrong version number", "packet length too long", "http request"].contains {
      detail.contains($0)
    }
  }
}

extension ContentError {
  /// Creates the error that ends a transfer of `subject` from `url`.
  package init(_ fault: TransferFault, from url: WebURL, subject: String) {
    self.init(
      fault.code, fault.message(url), remedy: fault.remedy(url), subject: subject,
      cause: fault.detail.isEmpty ? nil : fault.detail.printable(limit: 500))
  }
}

extension Exchange {
  /// Whether libcurl's message about a failed connection names the store's host, not a proxy.
  fileprivate func isStoreNamed(in detail: String) -> Bool {
    guard loop.configuration.proxy.proxy(for: url) != nil else { return true }
    let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
    return detail.contains(" \(host) port \(url.port) ")
  }
}

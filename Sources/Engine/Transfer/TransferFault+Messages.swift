package import HostedModel

extension ContentError {
  /// Creates the error that ends a transfer of `subject` from `url`.
  package init(_ fault: TransferFault, from url: WebURL, subject: String) {
    self.init(
      fault.code, fault.message(url), remedy: fault.remedy(url), subject: subject,
      cause: fault.detail.isEmpty ? nil : fault.detail.printable(limit: 500))
  }
}

extension TransferFault {
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

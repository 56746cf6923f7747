import HostedCCurl

extension TransferFault {
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
}

extension Exchange {
  /// Whether libcurl's message about a failed connection names the store's host, not a proxy.
  fileprivate func isStoreNamed(in detail: String) -> Bool {
    guard loop.configuration.proxy.proxy(for: url) != nil else { return true }
    let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
    return detail.contains(" \(host) port \(url.port) ")
  }
}

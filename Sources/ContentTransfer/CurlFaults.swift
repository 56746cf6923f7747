import CCurl

extension TransferFault {
  /// What libcurl's number means after what `easy` did; it has the same one for a server that refuses
  /// and for a socket that could not be made.
  init(_ code: CURLcode, of easy: EasyHandle, lacksSockets: Bool) {
    let isConnected = easy.seconds(CURLINFO_PRETRANSFER_TIME_T) > 0
    let kind: Kind =
      switch code {
      // What a proxy answered instead of connecting.
      case _ where easy.number(CURLINFO_HTTP_CONNECTCODE) >= 300: .proxy
      case CURLE_COULDNT_RESOLVE_HOST: .unresolved
      case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .proxy
      case CURLE_COULDNT_CONNECT: lacksSockets ? .tooManyFiles : .refused
      case CURLE_OPERATION_TIMEDOUT: isConnected ? .stalled : .connectTimeout
      case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING: .cutShort
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
        CURLE_SSL_CRL_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS:
        .certificate
      case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED,
        CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_CERTPROBLEM:
        .secureConnection
      case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: .garbled
      // libcurl's number for an answer of HTTP/0.9 as well.
      case CURLE_UNSUPPORTED_PROTOCOL: isConnected ? .garbled : .unusableURL
      case CURLE_URL_MALFORMAT: .unusableURL
      default: .network
      }
    self.init(kind, easy.detail(code))
  }
}

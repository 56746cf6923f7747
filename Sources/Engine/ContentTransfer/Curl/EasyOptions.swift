import CCurl

extension EasyHandle {
  /// libcurl reads as much at once at most.
  ///
  /// A slab is filled and hashed while its bytes are in the processor's cache, which much more
  /// would leave.
  private static let bufferSize = 240 << 10

  /// Sets every option of one request; nothing is left to what libcurl would choose.
  func configure(for exchange: Exchange, _ configuration: HTTPConfiguration) {
    secure(configuration)
    if exchange.usesSecondConnection { separateConnection() }
    setProxy(configuration.proxy, for: exchange.url)
    set(CURLOPT_URL, exchange.url.text)
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_HTTPGET, 1)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    // Where HTTP/2 may be offered, a second request waits to share the first one's connection.
    set(CURLOPT_PIPEWAIT, exchange.url.isSecure ? 1 : 0)
    set(CURLOPT_BUFFERSIZE, min(Self.bufferSize, max(16 << 10, exchange.request.memory)))
    setAddresses(configuration.fixedAddresses())
    // Of a host's servers, the first address should not get all clients, nor be the only one tried.
    set(CURLOPT_DNS_SHUFFLE_ADDRESSES, 1)
    if exchange.request.isFresh {
      set(CURLOPT_FRESH_CONNECT, 1)
      set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
    }
    set(CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectTimeout * 1000))
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_USERAGENT, configuration.userAgent)
    if let range = exchange.request.range {
      set(CURLOPT_RANGE, "\(range.lowerBound)-\(range.upperBound - 1)")
    }
    // Digests are of the bytes as they are published; nobody may pack them on the way.
    let encoding = HTTPHeader("Accept-Encoding", "identity")
    let secrets = configuration.secrets(for: exchange.url)
    setHeaders([encoding] + exchange.request.headers + secrets)
    // A proxy, which may be another machine, would read them.
    if !secrets.isEmpty, !exchange.url.isSecure, exchange.url.isLoopback { set(CURLOPT_PROXY, "") }
    answer(to: exchange)
  }

  private func secure(_ configuration: HTTPConfiguration) {
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
    set(CURLOPT_NETRC, 0)
    set(CURLOPT_UNRESTRICTED_AUTH, 0)
    // A proxy that opens a tunnel is not sent the headers for the server behind it.
    set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    set(CURLOPT_HTTP09_ALLOWED, 0)
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    if let file = configuration.certificateAuthorities { set(CURLOPT_CAINFO, file) }
  }

  /// Uses another connection than requests without this.
  ///
  /// libcurl shares a connection only between requests with the same settings of TLS. The newest
  /// version is the limit without this, too, but is written in another way.
  private func separateConnection() {
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_3)
  }

  /// Without a value, libcurl would read the process's environment.
  private func setProxy(_ setting: ProxySetting, for url: WebURL) {
    let (proxy, exceptions) = setting.proxy(for: url) ?? ("", "")
    set(CURLOPT_PROXY, proxy)
    set(CURLOPT_NOPROXY, exceptions)
  }

  /// Hands the answer to `exchange`, which the loop keeps alive for as long as the handle is used.
  private func answer(to exchange: Exchange) {
    let context = Unmanaged.passUnretained(exchange).toOpaque()
    set(CURLOPT_PRIVATE, context)
    set(CURLOPT_HEADERDATA, context)
    set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
      let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return exchange.receiveHeader(line) ? line.count : 0
    }
    set(CURLOPT_OPENSOCKETDATA, context)
    set(CURLOPT_OPENSOCKETFUNCTION) { context, _, address in
      guard let context, let address else { return CURL_SOCKET_BAD }
      let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
      return exchange.openSocket(for: address.pointee)
    }
    set(CURLOPT_WRITEDATA, context)
    set(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
      return exchange.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
  }
}

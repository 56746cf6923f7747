import HostedHTTPValues
import HostedCCurl

extension EasyHandle {
  /// The maximum number of bytes that libcurl reads at once.
  ///
  /// A slab is filled and hashed while its bytes are in the processor's cache. A larger buffer
  /// would not fit into the cache.
  private static let bufferSize = 240 << 10

  /// Sets all options of one request; no option keeps the default of libcurl.
  func configure(for exchange: Exchange, _ configuration: HTTPConfiguration) {
    secure(configuration)
    if exchange.usesSecondConnection { separateConnection() }
    setProxy(configuration.proxy, for: exchange.url)
    set(CURLOPT_URL, exchange.url.text)
    set(CURLOPT_NOSIGNAL, 1)
    // Otherwise the end of a request waits for a name server that does not answer, and with it all
    // other requests and `close`. The cost: each such request leaves a thread and a socket, until
    // getaddrinfo(3) gives up.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_HTTPGET, 1)
    if let body = exchange.request.body { setBody(body) }
    switch exchange.request.method {
    case "GET": break
    case "HEAD": set(CURLOPT_NOBODY, 1)
    case let method: set(CURLOPT_CUSTOMREQUEST, method)
    }
    if exchange.request.readsCertificate { set(CURLOPT_CERTINFO, 1) }
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    // If HTTP/2 is possible, a second request waits to share the connection of the first one.
    set(CURLOPT_PIPEWAIT, exchange.url.isSecure ? 1 : 0)
    set(CURLOPT_BUFFERSIZE, min(Self.bufferSize, max(16 << 10, exchange.request.memory)))
    set(CURLOPT_RESOLVE, configuration.fixedAddresses())
    // If a host has several addresses, spread clients over them, and do not always try the first.
    set(CURLOPT_DNS_SHUFFLE_ADDRESSES, 1)
    if exchange.request.isFresh {
      set(CURLOPT_FRESH_CONNECT, 1)
      set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
    }
    // Zero would be the default of libcurl, and the number must fit into an `int`.
    let milliseconds = configuration.connectTimeout * 1000
    set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(max(1, milliseconds), Double(Int32.max))))
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_USERAGENT, "hostedcontent")
    if let range = exchange.request.range {
      set(CURLOPT_RANGE, "\(range.lowerBound)-\(range.upperBound - 1)")
    }
    // Digests are of the published bytes, so servers and proxies must not compress them.
    let headers = exchange.request.headers
    let hasEncoding = headers.contains { $0.name == "Accept-Encoding" }
    let encoding = hasEncoding ? [] : [HTTPHeader("Accept-Encoding", "identity")]
    let secrets = exchange.request.isSigned ? [] : configuration.secrets(for: exchange.url)
    // Waiting for “100 Continue” would cost a round trip, or a second if the server ignores it.
    setHeaders(encoding + headers + secrets, omitting: ["Expect"])
    // A proxy on another machine could read them.
    let hasSecret = exchange.request.isSigned || !secrets.isEmpty
    if hasSecret, !exchange.url.isSecure, exchange.url.isLoopback { set(CURLOPT_PROXY, "") }
    answer(to: exchange)
  }

  private func secure(_ configuration: HTTPConfiguration) {
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
    set(CURLOPT_NETRC, 0)
    set(CURLOPT_UNRESTRICTED_AUTH, 0)
    // Do not send headers for the server to a proxy that opens a tunnel.
    set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    set(CURLOPT_HTTP09_ALLOWED, 0)
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    if let file = configuration.certificateAuthorities { set(CURLOPT_CAINFO, file) }
  }

  /// Uses a different connection than requests that do not call this method.
  ///
  /// libcurl only shares a connection between requests with the same TLS settings. The maximum
  /// version here is the same as without this call, but libcurl compares it as another setting.
  private func separateConnection() {
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_3)
  }

  /// Sets the proxy; without a value, libcurl would read the process's environment.
  private func setProxy(_ setting: ProxySetting, for url: WebURL) {
    let (proxy, exceptions) = setting.proxy(for: url) ?? ("", "")
    set(CURLOPT_PROXY, proxy)
    set(CURLOPT_NOPROXY, exceptions)
  }

  /// Passes the answer to `exchange`, which the loop retains while the handle is in use.
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

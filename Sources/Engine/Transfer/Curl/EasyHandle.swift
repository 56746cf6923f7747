import HostedCCurl
package import HostedHTTPValues

/// Owns an easy handle of libcurl.
///
/// Only the loop's thread uses it. The C functions are those of libcurl-easy(3). No pointer leaves
/// this module.
final class EasyHandle {
  /// The maximum number of bytes that libcurl reads at once.
  ///
  /// A slab is filled and hashed while its bytes are in the processor's cache. A larger buffer
  /// would not fit into the cache.
  private static let bufferSize = 240 << 10

  let pointer: UnsafeMutableRawPointer
  /// The lists of the options, whose addresses libcurl keeps.
  private var lists: [UnsafeMutablePointer<curl_slist>] = []
  /// The buffer for error messages, whose address libcurl keeps.
  private let words: UnsafeMutablePointer<CChar>

  init?() {
    guard let pointer = curl_easy_init() else { return nil }
    self.pointer = pointer
    words = .allocate(capacity: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(pointer)
    for list in lists { curl_slist_free_all(list) }
    words.deallocate()
  }

  /// Resets all options.
  ///
  /// Connections stay open.
  func reset() {
    curl_easy_reset(pointer)
    for list in lists { curl_slist_free_all(list) }
    lists = []
    words.pointee = 0
    hc_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, words)
  }

  private func set(_ option: CURLoption, _ value: Int) { hc_easy_set_long(pointer, option, value) }

  /// Sets a string, which libcurl copies.
  private func set(_ option: CURLoption, _ value: String) {
    hc_easy_set_string(pointer, option, value)
  }

  private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) {
    hc_easy_set_pointer(pointer, option, value)
  }

  private func set(_ option: CURLoption, _ callback: curl_write_callback) {
    hc_easy_set_write(pointer, option, callback)
  }

  private func set(_ option: CURLoption, _ callback: curl_opensocket_callback) {
    hc_easy_set_opensocket(pointer, option, callback)
  }

  /// Sets the body of a request, which libcurl copies.
  private func setBody(_ body: [UInt8]) {
    set(CURLOPT_POST, 1)
    hc_easy_set_offset(pointer, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
    // Without a pointer, libcurl would read the body from standard input.
    var bytes = body.isEmpty ? [0] : body
    bytes.withUnsafeMutableBytes { bytes in
      if let start = bytes.baseAddress { set(CURLOPT_COPYPOSTFIELDS, start) }
    }
  }

  /// Sets a list of lines, which `reset` frees.
  private func set(_ option: CURLoption, _ lines: [String]) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines { list = curl_slist_append(list, line) ?? list }
    guard let list else { return }
    lists.append(list)
    hc_easy_set_list(pointer, option, list)
  }

  /// Sets the headers that are sent in addition to libcurl's own.
  ///
  /// Those of libcurl with a name in `omitted` are not sent.
  private func setHeaders(_ headers: [HTTPHeader], omitting omitted: [String]) {
    // To send an empty header, libcurl needs a semicolon. With a colon, it removes the header.
    let sent = headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    set(CURLOPT_HTTPHEADER, omitted.map { "\($0):" } + sent)
  }

  /// Continues after a callback has paused the transfer, and may call callbacks.
  func resume() -> CURLcode { curl_easy_pause(pointer, CURLPAUSE_CONT) }

  /// Returns libcurl's message about the last failure.
  func detail(_ code: CURLcode) -> String {
    words.pointee == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: words)
  }

  func seconds(_ info: CURLINFO) -> Double {
    var microseconds: curl_off_t = 0
    hc_easy_get_offset(pointer, info, &microseconds)
    return Double(microseconds) / 1e6
  }

  func number(_ info: CURLINFO) -> Int {
    var number = 0
    hc_easy_get_long(pointer, info, &number)
    return number
  }

  func text(_ info: CURLINFO) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    hc_easy_get_string(pointer, info, &text)
    return text.map { String(cString: $0) }
  }

  /// When the server's certificate expires, in seconds since 1970, or nil if it is unknown.
  ///
  /// Needs `CURLOPT_CERTINFO`, and a connection that this request has opened.
  var certificateExpiry: Int64? {
    var field = hc_easy_get_certificate(pointer)
    while let entry = field {
      if let data = entry.pointee.data {
        let parts = String(cString: data).split(separator: ":", maxSplits: 1)
        if parts.count == 2, parts[0] == "Expire date" { return HTTPDate.seconds(String(parts[1])) }
      }
      field = entry.pointee.next
    }
    return nil
  }

  // MARK: Options of a request

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

extension HTTPDate {
  /// Returns the time of a date in one of the forms of HTTP, or nil if libcurl cannot parse it.
  ///
  /// libcurl also parses other forms.
  package static func seconds(_ text: String) -> Int64? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
  }
}

import CCurl

/// Owns an easy handle of libcurl.
///
/// Only the loop's thread uses it. The C functions are those of libcurl-easy(3). No pointer leaves
/// this module.
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var addresses: UnsafeMutablePointer<curl_slist>?
  /// The buffer for error messages, whose address libcurl keeps.
  private let words: UnsafeMutablePointer<CChar>

  init?() {
    guard let pointer = curl_easy_init() else { return nil }
    self.pointer = pointer
    words = .allocate(capacity: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(pointer)
    curl_slist_free_all(headers)
    curl_slist_free_all(addresses)
    words.deallocate()
  }

  /// Resets all options.
  ///
  /// Connections stay open.
  func reset() {
    curl_easy_reset(pointer)
    curl_slist_free_all(headers)
    headers = nil
    curl_slist_free_all(addresses)
    addresses = nil
    words.pointee = 0
    hc_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, words)
  }

  func set(_ option: CURLoption, _ value: Int) { hc_easy_set_long(pointer, option, value) }

  /// Sets a string, which libcurl copies.
  func set(_ option: CURLoption, _ value: String) { hc_easy_set_string(pointer, option, value) }

  func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) {
    hc_easy_set_pointer(pointer, option, value)
  }

  func set(_ option: CURLoption, _ callback: curl_write_callback) {
    hc_easy_set_write(pointer, option, callback)
  }

  func set(_ option: CURLoption, _ callback: curl_opensocket_callback) {
    hc_easy_set_opensocket(pointer, option, callback)
  }

  /// Sets the body of a request, which libcurl copies.
  func setBody(_ body: [UInt8]) {
    set(CURLOPT_POST, 1)
    hc_easy_set_offset(pointer, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
    // Without a pointer, libcurl would read the body from standard input.
    var bytes = body.isEmpty ? [0] : body
    bytes.withUnsafeMutableBytes { bytes in
      if let start = bytes.baseAddress { set(CURLOPT_COPYPOSTFIELDS, start) }
    }
  }

  /// Replaces the headers that are sent in addition to libcurl's own.
  ///
  /// Those of libcurl with a name in `omitted` are not sent.
  func setHeaders(_ lines: [HTTPHeader], omitting omitted: [String] = []) {
    var list: UnsafeMutablePointer<curl_slist>?
    for name in omitted { list = curl_slist_append(list, "\(name):") ?? list }
    for line in lines {
      // To send an empty header, libcurl needs a semicolon. With a colon, it removes the header.
      let text = line.value.isEmpty ? "\(line.name);" : "\(line.name): \(line.value)"
      list = curl_slist_append(list, text) ?? list
    }
    hc_easy_set_list(pointer, CURLOPT_HTTPHEADER, list)
    curl_slist_free_all(headers)
    headers = list
  }

  /// Sets the addresses of hosts that are not resolved; `reset` frees the list.
  func setAddresses(_ lines: [String]) {
    for line in lines { addresses = curl_slist_append(addresses, line) ?? addresses }
    if let addresses { hc_easy_set_list(pointer, CURLOPT_RESOLVE, addresses) }
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
}

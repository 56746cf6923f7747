import HostedHTTPValues
import HostedCCurl

/// Owns an easy handle of libcurl.
///
/// Only the loop's thread uses it. The C functions are those of libcurl-easy(3). No pointer leaves
/// this module.
final class EasyHandle {
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

  /// Sets a list of lines, which `reset` frees.
  func set(_ option: CURLoption, _ lines: [String]) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines { list = curl_slist_append(list, line) ?? list }
    guard let list else { return }
    lists.append(list)
    hc_easy_set_list(pointer, option, list)
  }

  /// Sets the headers that are sent in addition to libcurl's own.
  ///
  /// Those of libcurl with a name in `omitted` are not sent.
  func setHeaders(_ headers: [HTTPHeader], omitting omitted: [String]) {
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
}

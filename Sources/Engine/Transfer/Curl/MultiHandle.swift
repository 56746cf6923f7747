import HostedCCurl
import HostedConcurrency
import HostedDigests

/// Owns a multi handle of libcurl, with its connections.
///
/// Unchecked, because only the loop's thread uses it, except for `wake`. The C functions are those
/// of libcurl-multi(3). No pointer leaves this module.
final class MultiHandle: @unchecked Sendable {
  private let pointer: UnsafeMutableRawPointer
  /// In use while another thread wakes the loop, so that the handle is not cleaned up meanwhile.
  private let isOpen = Serialized(true)

  /// The global initialization of libcurl, once per process.
  private static let isReady =
    CryptoLibrary.isReady && curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  /// Creates a handle that keeps up to `connections` open, or returns nil without descriptors.
  init?(connections: Int) {
    guard Self.isReady, let pointer = curl_multi_init() else { return nil }
    self.pointer = pointer
    // Without descriptors for waking, it could not be woken before its timeout.
    guard curl_multi_wakeup(pointer) == CURLM_OK else { return nil }
    hc_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, connections)
  }

  deinit { close() }

  /// Closes its connections, on the loop's thread, where a broken socket sends no signal.
  ///
  /// All easy handles must have been removed.
  func close() {
    let wasOpen = isOpen.use { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if wasOpen { curl_multi_cleanup(pointer) }
  }

  /// Ends `poll`, or the next call of it; from any thread.
  func wake() { isOpen.use { if $0 { curl_multi_wakeup(pointer) } } }

  /// Waits for sockets and timers of libcurl, at most this long.
  func poll(milliseconds: Int32) { curl_multi_poll(pointer, nil, 0, milliseconds, nil) }

  /// Transfers what is possible now, and calls the callbacks.
  func perform() {
    var count: Int32 = 0
    curl_multi_perform(pointer, &count)
  }

  /// Begins the request of `easy`, and returns a fault if it cannot.
  func add(_ easy: EasyHandle) -> TransferFault? {
    let code = curl_multi_add_handle(pointer, easy.pointer)
    guard code != CURLM_OK else { return nil }
    return TransferFault(.network, String(cString: curl_multi_strerror(code)))
  }

  func remove(_ easy: EasyHandle) { curl_multi_remove_handle(pointer, easy.pointer) }

  /// Returns the next exchange that libcurl has ended, and its result; nil if all were returned.
  func nextEnd() -> (exchange: Exchange, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left)?.pointee {
      guard message.msg == CURLMSG_DONE, let easy = message.easy_handle else { continue }
      var context: UnsafeMutableRawPointer?
      hc_easy_get_pointer(easy, CURLINFO_PRIVATE, &context)
      guard let context else { continue }
      let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
      return (exchange, message.data.result)
    }
    return nil
  }
}

import CCurl
import Glibc

/// The callbacks of libcurl, on the loop's thread.
///
/// They do as little as possible.
extension Exchange {
  /// The maximum bytes of an unwanted body that are read to keep the connection.
  private static let discardLimit = 64 << 10

  /// Creates a socket that child processes do not inherit.
  func openSocket(for address: curl_sockaddr) -> curl_socket_t {
    let kind = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let socket = socket(address.family, kind, address.protocol)
    guard socket >= 0 else {
      if errno == EMFILE || errno == ENFILE { lacksSockets = true }
      return CURL_SOCKET_BAD
    }
    // It is not known yet whether this one connects, since several addresses may be tried at once.
    newSockets.append(socket)
    return socket
  }

  /// Takes a header line, and returns false to abort the request.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    progress += Int64(line.count)
    if collector.add(line) { return true }
    fault = TransferFault(.headersTooLong)
    return false
  }

  /// Takes a part of the body, and returns the value for libcurl.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    settleHead()
    if fault != nil || collector.head.isRedirect { return discard(bytes.count) }
    if let instant = loop.mayTake(bytes.count, of: self) {
      limitedUntil = instant
      return pause()
    }
    // Count first, since the worker may have used the bytes before the call returns.
    count(bytes.count)
    switch handler.receive(bytes) {
    case .wait:
      count(-bytes.count)
      return pause()
    case .taken: return bytes.count
    case .complete: isComplete = true
    case .refused(let refusal): fault = refusal
    }
    return 0
  }

  /// Passes the head to the handler once, unless it is a redirect.
  func settleHead() {
    guard head == nil, fault == nil, !collector.head.isRedirect else { return }
    head = collector.head
    boundNewSocket()
    if url.origin == request.url.origin {
      loop.noteProtocol(of: url.origin, isShared: collector.head.version.hasPrefix("HTTP/2"))
    }
    fault = handler.receive(collector.head)
    if fault?.isRefusal != true {
      loop.pauses.answer(id, at: request.url.origin, now: loop.clock.uptime())
    }
    // Read a short error page to its end. A long one costs more than a new connection.
    let length = collector.head.contentLength ?? .max
    discardable = length <= Self.discardLimit ? Self.discardLimit : 0
    if fault?.kind.isStatus == false { discardable = 0 }
  }

  /// Limits the buffer of a new connection, now that its round-trip time is known.
  private func boundNewSocket() {
    guard !newSockets.isEmpty, let port = easy?.number(CURLINFO_LOCAL_PORT) else { return }
    for socket in newSockets {
      guard let roundTrip = ReceiveWindow.bound(socket, port: port) else { continue }
      loop.distances.note(roundTrip, to: request.url.origin)
    }
    newSockets = []
  }

  private func discard(_ bytes: Int) -> Int {
    count(bytes)
    if collector.head.isRedirect, discardable == 0 { discardable = Self.discardLimit }
    discardable -= bytes
    return discardable > 0 ? bytes : 0
  }

  private func count(_ bytes: Int) {
    progress += Int64(bytes)
    ticket.counters.receive(bytes)
    loop.counters.receive(bytes)
  }

  private func pause() -> Int {
    isPaused = true
    return Int(CURL_WRITEFUNC_PAUSE)
  }
}

extension TransferFault.Kind {
  var isStatus: Bool { if case .status = self { true } else { false } }
}

import CCurl
import Glibc

/// What libcurl's callbacks do, on the loop's thread: as little as can be.
extension Exchange {
  /// So much of an unwanted body is read in order to keep the connection.
  private static let discardLimit = 64 << 10

  /// Makes a socket, which no child process of the service inherits.
  func openSocket(for address: curl_sockaddr) -> curl_socket_t {
    let kind = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let socket = socket(address.family, kind, address.protocol)
    guard socket >= 0 else {
      if errno == EMFILE || errno == ENFILE { lacksSockets = true }
      return CURL_SOCKET_BAD
    }
    // Whether this one is connected is not known yet: several addresses may be tried at once.
    newSockets.append(socket)
    return socket
  }

  /// Takes one header line; false ends the request.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    progress += Int64(line.count)
    if collector.add(line) { return true }
    fault = TransferFault(.headersTooLong)
    return false
  }

  /// Takes a part of the body and says what libcurl is to do.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    settleHead()
    if fault != nil || collector.head.isRedirect { return discard(bytes.count) }
    if let instant = loop.mayTake(bytes.count, of: self) {
      limitedUntil = instant
      return pause()
    }
    // Counted first, since the worker may be done with them before the call returns.
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

  /// Shows the head to the handler, once, unless it leads elsewhere.
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
    // A short error page is read away; a long one costs more than a new connection.
    let length = collector.head.contentLength ?? .max
    discardable = length <= Self.discardLimit ? Self.discardLimit : 0
    if fault?.kind.isStatus == false { discardable = 0 }
  }

  /// Each connection once: now its round trip is known, and its buffer has not grown yet.
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

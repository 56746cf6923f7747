import HostedHTTPValues
import HostedCCurl
import HostedConcurrency
import Glibc

/// The callbacks of libcurl, on the loop's thread; they do as little as possible.
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
    phase = .failed(TransferFault(.headersTooLong))
    return false
  }

  /// Takes a part of the body, and returns the value for libcurl.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    settleHead()
    switch phase {
    case .head, .body, .paused: break
    case .discarding(let left, let fault):
      count(bytes.count)
      phase = .discarding(bytes: left - bytes.count, fault)
      return left > bytes.count ? bytes.count : 0
    case .complete, .failed: return 0
    }
    if let instant = loop.mayTake(bytes.count, of: self) { return pause(until: instant) }
    // Count first, since the worker may have used the bytes before the call returns.
    count(bytes.count)
    switch handler.receive(bytes) {
    case .wait:
      count(-bytes.count)
      // The bytes come again, and count against the rate limits then.
      loop.limiter.take(-bytes.count, for: url.origin, at: loop.clock.uptime())
      return pause(until: nil)
    case .taken: return bytes.count
    case .complete: phase = .complete
    case .refused(let fault): phase = .failed(fault)
    }
    return 0
  }

  /// Passes the head to the handler once, unless it is a redirect.
  func settleHead() {
    guard case .head = phase else { return }
    let head = collector.head
    guard !head.isRedirect else {
      phase = .discarding(bytes: Self.discardLimit, nil)
      return
    }
    self.head = head
    boundNewSocket()
    if url.origin == request.url.origin {
      loop.noteProtocol(of: url.origin, isShared: head.version.hasPrefix("HTTP/2"))
    }
    // A handler may accept a refusal, to examine it, but it does not end the pause of the host.
    if !TransferFault.isRefusal(head.status) {
      loop.pauses.answer(id, at: request.url.origin, now: loop.clock.uptime())
    }
    guard let fault = handler.receive(head) else {
      phase = .body
      return
    }
    // Read a short error page to its end. A long one costs more than a new connection.
    let length = head.contentLength ?? .max
    let isShortPage = fault.kind.isStatus && length <= Self.discardLimit
    phase = .discarding(bytes: isShortPage ? Self.discardLimit : 0, fault)
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

  private func count(_ bytes: Int) {
    progress += Int64(bytes)
    ticket.counters.receive(bytes)
    loop.counters.receive(bytes)
  }

  private func pause(until instant: Double?) -> Int {
    phase = .paused(until: instant)
    return Int(CURL_WRITEFUNC_PAUSE)
  }
}

extension TransferFault.Kind {
  var isStatus: Bool { if case .status = self { true } else { false } }
}

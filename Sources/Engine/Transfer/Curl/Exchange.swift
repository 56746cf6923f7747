import Glibc
import HostedHTTPValues
import HostedCCurl
import HostedConcurrency

/// A request to one URL, for one answer.
struct ExchangeRequest: Sendable {
  var url: WebURL
  var method = "GET"
  var headers: [HTTPHeader] = []
  /// The body of the request, or nil for none.
  var body: [UInt8]?
  /// The requested bytes, or nil for the whole file.
  var range: Range<Int64>?
  /// The uptime before which the request must not start.
  var notBefore = 0.0
  /// The reason for `notBefore`, which users can see while the request waits.
  var reason: TransferWait.Reason?
  /// The uptime at which the request fails, waiting or running, or nil for no deadline.
  var deadline: Double?
  /// The maximum bytes of its buffers.
  var memory = 0
  /// A factor for the host's idle timeout.
  ///
  /// Infinite: only `stallTimeout` applies.
  var idleFactor = 1.0
  /// The time in which the answer may be silent, or nil for the timeouts of the session.
  var stallTimeout: Double?
  /// Whether the request needs a new connection, and a new lookup of the address.
  var isFresh = false
  /// Whether it must not share the connection of most requests, as it would with HTTP/2.
  var usesSecondConnection = false
  /// Whether the end reports the server's certificate.
  var readsCertificate = false
  /// The grant of the URL, or nil if the URL does not expire.
  var grant: URLLease.Grant?

  /// Whether the URL contains a secret, which replaces credentials.
  var isSigned: Bool { grant != nil && url.hasQuery }
}

/// The result of passing body bytes to a handler.
enum BodyAnswer: Sendable {
  /// The bytes were taken.
  case taken
  /// The bytes cannot be taken now; they are passed again after `TransferLoop.resume`.
  case wait
  /// All needed bytes were taken; the rest of the body is not needed.
  case complete
  /// The bytes do not match the request.
  case refused(TransferFault)
}

/// Receives an answer; calls come from the loop's thread, one at a time, and must not block.
protocol ExchangeHandler: AnyObject, Sendable {
  /// Checks the head before the body; a returned fault rejects the answer, without its body.
  func receive(_ head: HTTPHead) -> TransferFault?
  /// Takes a part of the body; the bytes belong to libcurl and are valid during the call.
  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer
  /// Reports that no byte has arrived for a while; a returned fault ends the request.
  func idle() -> TransferFault?
  /// Reports the end; this is the last call.
  func end(_ end: ExchangeEnd)
}

extension ExchangeHandler {
  func idle() -> TransferFault? { TransferFault(.stalled) }
}

/// The end of a request.
struct ExchangeEnd: Sendable {
  /// The fault, or nil if the needed part of the answer has arrived.
  var fault: TransferFault?
  var head: HTTPHead?
  /// The URL of the answer, after redirects.
  var url: WebURL
  /// The uptime at which the request was sent.
  var startedAt: Double
  var timeToFirstByte: Double?
  /// When the server's certificate expires, in seconds since 1970, if the request asks for it.
  var certificateExpiry: Int64?
}

/// A request in the loop, including all its redirects.
///
/// Unchecked, because only the loop's thread uses its variables.
final class Exchange: @unchecked Sendable {
  let id: Int
  let ticket: TransferTicket
  let request: ExchangeRequest
  let handler: any ExchangeHandler
  unowned let loop: TransferLoop

  /// The current URL, after redirects.
  private(set) var url: WebURL
  private(set) var redirects = 0
  var easy: EasyHandle?
  var startedAt = 0.0
  private var collector: HeadCollector
  var stallGuard: StallGuard
  /// The received bytes of headers and body.
  private(set) var progress: Int64 = 0
  private(set) var phase = Phase.head
  /// The head that was passed to the handler.
  private(set) var head: HTTPHead?
  /// The sockets that were created for it, until the head of the answer arrives.
  private var newSockets: [Int32] = []
  /// Whether a socket could not be created because too many files are open.
  private(set) var lacksSockets = false

  /// The maximum bytes of the headers of all answers, including redirects.
  private static let headerLimit = 64 << 10
  /// The maximum bytes of an unwanted body that are read to keep the connection.
  private static let discardLimit = 64 << 10

  /// How far the answer from the current URL has arrived.
  enum Phase {
    /// The head is not complete, or the handler has not received it.
    case head
    /// The handler takes the body.
    case body
    /// libcurl has paused the body: for the handler, or for the rate limits until an uptime.
    case paused(until: Double?)
    /// Up to `bytes` more of the body are read to keep the connection, and not used.
    ///
    /// The answer is a redirect, or the handler has rejected its head with the fault.
    case discarding(bytes: Int, TransferFault?)
    /// The handler needs no more bytes.
    case complete
    /// We abort, because of a fault in the headers or the body.
    case failed(TransferFault)
  }

  init(
    _ id: Int, _ request: ExchangeRequest, ticket: TransferTicket, handler: any ExchangeHandler,
    on loop: TransferLoop
  ) {
    let configuration = loop.configuration
    self.id = id
    self.loop = loop
    self.request = request
    self.ticket = ticket
    self.handler = handler
    url = request.url
    collector = HeadCollector(limit: Self.headerLimit)
    stallGuard = StallGuard(
      window: configuration.stallTimeout, minimumBytes: configuration.minimumBytes, at: 0)
  }

  /// Whether libcurl has paused the transfer until it is resumed.
  var isPaused: Bool { if case .paused = phase { true } else { false } }

  /// The uptime at which the rate limits let it continue, or nil if they do not delay it.
  var limitedUntil: Double? { if case .paused(let until) = phase { until } else { nil } }

  /// Whether libcurl has no connection for the request yet.
  var isConnecting: Bool { head == nil && easy?.seconds(CURLINFO_PRETRANSFER_TIME_T) == 0 }

  /// Whether the request needs a different connection than most requests to its host.
  var usesSecondConnection: Bool {
    request.usesSecondConnection && loop.isShared(url.origin)
  }

  var entry: TransferSchedule.Entry {
    TransferSchedule.Entry(
      id: id, owner: ticket.id, origin: request.url.origin, priority: ticket.priority,
      notBefore: request.notBefore, memory: request.memory)
  }

  func isLate(at now: Double) -> Bool { (request.deadline ?? .infinity) <= now }

  /// Whether it could start, but its URL has expired.
  func isExpired(at now: Double) -> Bool {
    request.notBefore <= now && (request.grant?.expiresAt ?? .infinity) <= now
  }

  /// Whether the answer is a redirect.
  var isRedirected: Bool { collector.head.isRedirect }

  /// Prepares for the answer from the target of a redirect.
  func redirect(to target: WebURL) {
    url = target
    redirects += 1
    phase = .head
    collector.restart()
  }

  /// Expects more of the body after a pause.
  func endPause() { phase = .body }

  /// Returns the end of the request, with the results so far.
  func ending(_ fault: TransferFault?) -> ExchangeEnd {
    let firstByte = easy?.seconds(CURLINFO_STARTTRANSFER_TIME_T) ?? 0
    return ExchangeEnd(
      fault: fault, head: head, url: url, startedAt: startedAt,
      timeToFirstByte: firstByte > 0 ? firstByte : nil,
      certificateExpiry: request.readsCertificate ? easy?.certificateExpiry : nil)
  }

  // MARK: Callbacks of libcurl

  // They run on the loop's thread, and do as little as possible.

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
      loop.giveBack(bytes.count, of: self)
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
  fileprivate var isStatus: Bool { if case .status = self { true } else { false } }
}

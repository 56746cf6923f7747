import CCurl

/// What one request is to be: one URL, one answer.
struct ExchangeRequest: Sendable {
  var url: WebURL
  var headers: [HTTPHeader] = []
  /// The bytes that are asked for; nil for all of them.
  var range: Range<Int64>?
  /// The instant before which it must not start.
  var notBefore = 0.0
  /// Why it must not; what a person is told meanwhile.
  var reason: TransferWait.Reason?
  /// The instant at which it is given up, waiting or running; nil for never.
  var deadline: Double?
  /// Bytes of buffers that it may hold.
  var memory = 0
  /// The host's idle timeout counts so many times; infinite for none beside `stallTimeout`.
  var idleFactor = 1.0
  /// Whether it needs a new connection, to an address that is looked up now.
  var isFresh = false
  /// Whether it needs another connection than most requests where HTTP/2 would let it share theirs.
  var usesSecondConnection = false
}

extension TransferFault {
  /// Whether the connection or the address may be the cause, so that the next attempt needs new
  /// ones.
  var mayBeOfAddress: Bool {
    switch kind {
    case .refused, .connectTimeout, .secureConnection, .certificate, .network, .garbled, .stalled,
      .cutShort:
      true
    default: false
    }
  }
}

/// What becomes of an answer's bytes.
enum BodyAnswer: Sendable {
  /// They were taken.
  case taken
  /// They cannot be taken now; they come again after `TransferLoop.resume`.
  case wait
  /// They were taken as far as they are needed, and no more are.
  case complete
  /// They are not what was asked for.
  case refused(TransferFault)
}

/// Who gets an answer; called on the loop's thread, one call at a time, and must not block.
protocol ExchangeHandler: AnyObject, Sendable {
  /// Looks at the answer before its body; a fault refuses it, and no byte of the body follows.
  func receive(_ head: HTTPHead) -> TransferFault?
  /// Takes a part of the body; the bytes are the C library's and end with the call.
  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer
  /// Nothing has come for a while; a fault gives the request up.
  func idle() -> TransferFault?
  /// The last call.
  func end(_ end: ExchangeEnd)
}

extension ExchangeHandler {
  func idle() -> TransferFault? { TransferFault(.stalled) }
}

/// How a request ended.
struct ExchangeEnd: Sendable {
  /// What went wrong; nil when the answer came whole, or as far as was needed.
  var fault: TransferFault?
  var head: HTTPHead?
  /// Where the answer came from, after redirects.
  var url: WebURL
  /// When it was sent, as uptime.
  var startedAt: Double
  var protocolName: String?
  var timeToFirstByte: Double?
}

/// One request on its way through the loop, over all its redirects.
///
/// Only the loop's thread touches what varies, which is why it may be shared unchecked.
final class Exchange: @unchecked Sendable {
  let id: Int
  let ticket: TransferTicket
  let request: ExchangeRequest
  let handler: any ExchangeHandler
  unowned let loop: TransferLoop

  /// Where it is after redirects.
  var url: WebURL
  var redirects = 0
  var easy: EasyHandle?
  var startedAt = 0.0
  var collector: HeadCollector
  var stallGuard: StallGuard
  /// Bytes of headers and body that arrived.
  var progress: Int64 = 0
  /// The head that the handler has seen.
  var head: HTTPHead?
  /// What we found wrong ourselves; it outranks what libcurl says about our breaking off.
  var fault: TransferFault?
  /// The handler needs no more.
  var isComplete = false
  /// Bytes of a body that nobody wants which may still be read so that the connection lives on.
  var discardable = 0
  /// Sockets that were made for it, until the answer's head comes over one of them.
  var newSockets: [Int32] = []
  /// Whether one more could not be made, since too many files are open.
  var lacksSockets = false
  /// libcurl waits until it is told to go on.
  var isPaused = false
  /// When the rate limits let it go on; nil when they do not hold it.
  var limitedUntil: Double?

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
    collector = HeadCollector(limit: configuration.headerLimit)
    stallGuard = StallGuard(
      window: configuration.stallTimeout, minimumBytes: configuration.minimumBytes, at: 0)
  }

  /// Whether libcurl has no connection for it yet.
  var isConnecting: Bool { head == nil && easy?.seconds(CURLINFO_PRETRANSFER_TIME_T) == 0 }

  /// Whether it needs another connection than most requests to its host.
  var usesSecondConnection: Bool {
    request.usesSecondConnection && loop.schedule.multiplexed.contains(url.origin)
  }

  /// The schedule's view of it.
  var entry: TransferSchedule.Entry {
    TransferSchedule.Entry(
      id: id, owner: ticket.id, origin: request.url.origin, priority: ticket.priority,
      notBefore: request.notBefore, memory: request.memory)
  }
}

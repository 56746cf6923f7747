import HostedHTTPValues
import HostedModel
import HostedFileIO

/// What the requests of a server share.
struct RequestContext: Sendable {
  let files: StaticFiles
  let configuration: FileServer.Configuration
  let book: FaultBook
  /// Nil if requests are not recorded.
  let log: RequestLog?
  /// Limits the rate of all bodies together.
  let pacer: SendPacer?
  let connections: ConnectionTable
  let stop: StopLatch
}

/// Decides how to respond to a request, and sends the response.
///
/// If the request has a body, the response is sent after it, because otherwise the connection would
/// close before the client has read the response.
final class RequestHandler: HTTPExchange {
  private let request: HTTPRequest
  private let refusal: HTTPRefusal?
  private let context: RequestContext
  /// The number of ignored bytes of the request's body.
  private var uploaded = 0
  private var entry: RequestLog.Entry?

  private static let longestUpload = 64 << 10
  private static let bufferSize = 64 << 10

  init(_ request: HTTPRequest, _ refusal: HTTPRefusal?, _ context: RequestContext) {
    self.request = request
    self.refusal = refusal
    self.context = context
  }

  /// Answers a bad request at once, because its end is unknown.
  func receiveHead(_ connection: HTTPConnection) -> Bool {
    guard let refusal else { return true }
    context.connections.beginAnswer(connection.descriptor)
    entry = context.log?.begin(request, status: refusal.status, faults: [])
    var answer = HTTPResponse(refusal.status, text: refusal.reason)
    answer.headers["Connection"] = "close"
    return send(answer, connection, wire(of: connection), Pace(limiters: []))
  }

  func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
    uploaded += part.count
    return uploaded <= Self.longestUpload
  }

  func respond(_ connection: HTTPConnection) -> Bool {
    context.connections.beginAnswer(connection.descriptor)
    let occurrences = context.book.occurrences(for: request)
    var (answer, transmission) = decide(occurrences)
    entry = context.log?.begin(
      request, status: transmission.sendsHead ? answer.status : nil, faults: occurrences.map(\.text)
    )
    let wire = wire(of: connection)
    if transmission.latency > .zero {
      guard wire.wait(transmission.latency) else { return false }
      connection.restartIdleTime(wire.idleSeconds)
    }
    let own = transmission.rate.map { SendPacer(bytesPerSecond: $0) }
    let pace = Pace(limiters: [own, context.pacer].compactMap(\.self))
    if let disturbance = transmission.disturbance {
      DisturbedResponse(
        answer: answer, disturbance: disturbance, pace: pace, wire: wire, entry: entry,
        isHead: request.method == "HEAD"
      ).write()
      return false
    }
    // A proxy may interpret the end of a body in another way than this server.
    if request.hasBody { answer.headers["Connection"] = "close" }
    return send(answer, connection, wire, pace)
  }

  func end() { if let entry { context.log?.finish(entry) } }

  private func wire(of connection: HTTPConnection) -> Wire {
    connection.wire(context.stop, idleSeconds: context.configuration.limits.idleSeconds)
  }

  /// Sends a valid response; counts its bytes in the log.
  private func send(
    _ answer: HTTPResponse<ServedBody>, _ connection: HTTPConnection, _ wire: Wire, _ pace: Pace
  ) -> Bool {
    let length = answer.body.length
    let body: HTTPBody
    if length == 0 {
      body = .bytes([])
    } else if entry == nil, pace.limiters.isEmpty, let (opened, range) = answer.body.plainFile {
      guard let descriptor = try? opened.file.duplicatedDescriptor() else { return false }
      body = .file(descriptor: descriptor, offset: range.lowerBound, length: length)
    } else {
      let reader = answer.body.reader()
      // On the connection's own thread, so waiting for the rate limit does not delay others.
      body = .stream(length: length, bufferSize: Self.bufferSize) { [entry] buffer in
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(pace.portion))
        // If the file became shorter, the announced length cannot be sent. Fail, to close the
        // connection.
        guard let count = try? reader(part), count > 0 else { return HTTPBody.failure }
        entry?.count(count)
        return pace.wait(for: count, wire) ? count : HTTPBody.failure
      }
    }
    return connection.send(answer.head, body)
  }

  /// Returns the response and its transmission, after all active faults.
  private func decide(_ occurrences: [FaultBook.Occurrence]) -> (
    HTTPResponse<ServedBody>, Transmission
  ) {
    var transmission = Transmission(latency: context.configuration.latency)
    var answer = undisturbedAnswer(occurrences)
    for occurrence in occurrences {
      switch occurrence.fault {
      case .answer(let fault): fault.change(&answer, to: request)
      case .transmission(let fault): fault.change(&transmission)
      case .connection, .resource: break
      }
    }
    return (answer, transmission)
  }

  /// Returns the response of a correct server.
  ///
  /// Faults may have changed the file.
  private func undisturbedAnswer(
    _ occurrences: [FaultBook.Occurrence]
  ) -> HTTPResponse<ServedBody> {
    var request = request
    guard request.method == "GET" || request.method == "HEAD" else {
      var refused = HTTPResponse(405, text: "Only GET and HEAD are allowed.")
      refused.headers["Allow"] = "GET, HEAD"
      return refused
    }
    guard let location = request.location else { return .malformed }
    if let route = context.configuration.routes[location.path] { return route(request) }
    if let status = context.configuration.authorize?(request) {
      return HTTPResponse(status, text: "The file is not granted.")
    }
    switch context.files.representation(at: location) {
    case .failure(let refusal): return refusal
    case .success(var representation):
      for case (.resource(let fault), let number) in occurrences.map({ ($0.fault, $0.number) }) {
        fault.change(&request, &representation, number: number)
      }
      return HTTPResponse(to: request, of: representation)
    }
  }
}

extension Transmission {
  /// Whether at least the head is sent.
  fileprivate var sendsHead: Bool {
    switch disturbance?.end {
    case .closed, .reset(nil): false
    case .cut, .reset, nil: true
    }
  }
}

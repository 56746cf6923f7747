import ContentModel
import FileIO

/// Decides how to respond to a request and starts the response; thread-safe.
final class RequestHandler: Sendable {
  private let files: StaticFiles
  private let configuration: StoreServer.Configuration
  private let book: FaultBook
  /// Nil if requests are not recorded.
  private let log: RequestLog?
  private let line: SendPacer?
  private let connections: ConnectionTable
  private let stop: StopLatch

  init(
    _ files: StaticFiles, _ configuration: StoreServer.Configuration, _ book: FaultBook,
    _ log: RequestLog?, _ connections: ConnectionTable, _ stop: StopLatch
  ) {
    self.files = files
    self.configuration = configuration
    self.book = book
    self.log = log
    line = configuration.rate.map { SendPacer(bytesPerSecond: $0) }
    self.connections = connections
    self.stop = stop
  }

  fileprivate func finish(_ state: RequestState) {
    if let entry = state.entry { log?.finish(entry) }
  }

  /// Answers a bad request at once, because its end is unknown.
  fileprivate func refuse(
    _ refusal: RequestHead.Refusal, _ state: RequestState, _ connection: HTTPConnection
  ) -> Bool {
    connections.beginAnswer(connection.descriptor)
    state.entry = log?.begin(state.request, status: refusal.status, faults: [])
    var answer = Answer(refusal.status, text: refusal.reason)
    answer.set("Connection", "close")
    let wire = connection.wire(stop, idleSeconds: configuration.limits.idleSeconds)
    return send(answer, connection, wire, Pace(limiters: []), state.entry)
  }

  fileprivate func answer(_ state: RequestState, _ connection: HTTPConnection) -> Bool {
    let request = state.request
    connections.beginAnswer(connection.descriptor)
    let occurrences = book.occurrences(for: request)
    var (answer, transmission) = decide(request, occurrences)
    state.entry = log?.begin(
      request, status: transmission.sendsHead ? answer.status : nil, faults: occurrences.map(\.text)
    )
    let wire = connection.wire(stop, idleSeconds: configuration.limits.idleSeconds)
    if transmission.latency > .zero {
      guard wire.wait(transmission.latency) else { return false }
      connection.restartIdleTime(configuration.limits.idleSeconds)
    }
    let own = transmission.rate.map { SendPacer(bytesPerSecond: $0) }
    let pace = Pace(limiters: [own, line].compactMap(\.self))
    if let disturbance = transmission.disturbance {
      DisturbedAnswer(
        answer: answer, disturbance: disturbance, pace: pace, wire: wire, entry: state.entry,
        isHead: request.method == "HEAD"
      ).write()
      return false
    }
    // A proxy may interpret the end of a body in another way than this server.
    if state.isLast { answer.set("Connection", "close") }
    return send(answer, connection, wire, pace, state.entry)
  }

  private static let bufferSize = 64 << 10

  /// Sends a valid response; counts its bytes in `entry`.
  private func send(
    _ answer: Answer, _ connection: HTTPConnection, _ wire: Wire, _ pace: Pace,
    _ entry: RequestLog.Entry?
  ) -> Bool {
    let length = answer.body.length
    let body: HTTPBody
    if length == 0 {
      body = .empty
    } else if entry == nil, pace.limiters.isEmpty, let (opened, range) = answer.body.plainFile {
      guard let descriptor = try? opened.file.duplicatedDescriptor() else { return false }
      body = .file(descriptor: descriptor, offset: range.lowerBound, length: length)
    } else {
      let reader = answer.body.reader()
      // On the connection's own thread, so waiting for the rate limit does not delay others.
      body = .stream(length: length, bufferSize: Self.bufferSize) { buffer in
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(pace.portion))
        // If the file became shorter, the announced length cannot be sent. Fail, to close the
        // connection.
        guard let count = try? reader(part), count > 0 else { return HTTPBody.failure }
        entry?.count(count)
        return pace.wait(for: count, wire) ? count : HTTPBody.failure
      }
    }
    return connection.send(answer.status, answer.headers, body)
  }

  /// Returns the response to `request` and its transmission, after all active faults.
  private func decide(_ request: ServerRequest, _ occurrences: [FaultBook.Occurrence]) -> (
    Answer, Transmission
  ) {
    var asked = request
    var transmission = Transmission(latency: configuration.latency)
    var answer = undisturbedAnswer(to: &asked, occurrences)
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
    to request: inout ServerRequest, _ occurrences: [FaultBook.Occurrence]
  ) -> Answer {
    guard request.method == "GET" || request.method == "HEAD" else {
      var refused = Answer(405, text: "Only GET and HEAD are allowed.")
      refused.set("Allow", "GET, HEAD")
      return refused
    }
    guard let location = request.location else { return .malformed }
    if let route = configuration.routes[location.path] { return route(request) }
    if let status = configuration.authorize?(request) {
      return Answer(status, text: "The file is not granted.")
    }
    switch files.representation(at: location) {
    case .failure(let refusal): return refusal
    case .success(var representation):
      for case (.resource(let fault), let number) in occurrences.map({ ($0.fault, $0.number) }) {
        fault.change(&request, &representation, number: number)
      }
      return Answer(to: request, of: representation)
    }
  }
}

/// A request and the state of its response.
///
/// If the request has a body, the response is sent after it, because otherwise the connection would
/// close before the client has read the response.
final class RequestState: HTTPExchange {
  private let head: RequestHead
  private let handler: RequestHandler
  fileprivate let request: ServerRequest
  /// The number of ignored bytes of the request's body.
  private var uploaded = 0
  fileprivate var entry: RequestLog.Entry?

  private static let longestUpload = 64 << 10

  init(_ head: RequestHead, _ handler: RequestHandler) {
    self.head = head
    self.handler = handler
    request = ServerRequest(head.method, head.target, headers: head.fields)
  }

  /// Whether the connection closes after the response.
  fileprivate var isLast: Bool { head.hasBody }

  func receiveHead(_ connection: HTTPConnection) -> Bool {
    head.refusal.map { handler.refuse($0, self, connection) } ?? true
  }

  func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
    uploaded += part.count
    return uploaded <= Self.longestUpload
  }

  func respond(_ connection: HTTPConnection) -> Bool { handler.answer(self, connection) }

  func end() { handler.finish(self) }
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

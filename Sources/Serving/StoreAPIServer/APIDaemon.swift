import CMicroHTTPD
import Concurrency
import ContentModel
import ContentTransfer
import Dispatch
import Glibc
import StoreAPI
import StoreServer

/// A daemon of libmicrohttpd with one thread, and the threads that call the handler.
// Sendable, because the pointers and threads are only changed by the initializer and `stop`, and
// the libmicrohttpd functions that take them are thread-safe.
final class APIDaemon: @unchecked Sendable {
  let connections: ConnectionTable
  private let configuration: APIServer.Configuration
  private let handle: APIServer.Handler
  private let callbacks: UnsafeMutablePointer<hc_http_callbacks>
  private var daemon: OpaquePointer?
  private let work = BlockingQueue<@Sendable () -> Void>()
  private var workers: WorkerThreads?
  private let state = Mutex(State())
  /// Has one entry for each pending response.
  private let unfinished = DispatchGroup()

  private struct State {
    var phase = ServerPhase.running
    var pendingResponses: [ObjectIdentifier: PendingResponse] = [:]
  }

  /// The memory of a connection for its head and buffers, so that many can wait for events.
  private static let connectionBytes = 8 << 10
  /// The part of it that a request's head may use; the rest is for the head of the response.
  private static let headLimit = 7 << 10
  /// The time in seconds for responses after `onStopTimeout`.
  private static let lastTimeout = 5.0

  init(_ configuration: APIServer.Configuration, _ handle: @escaping APIServer.Handler) throws {
    self.configuration = configuration
    self.handle = handle
    connections = ConnectionTable(
      limit: configuration.connectionLimit, limitPerAddress: configuration.connectionsPerAddress,
      limitsLoopback: false, requestTimeout: configuration.requestTimeout,
      idleTimeout: .seconds(configuration.idleSeconds))
    callbacks = .allocate(capacity: 1)
    callbacks.initialize(to: Self.callbacks(Unmanaged.passUnretained(self).toOpaque()))
    workers = try WorkerThreads(count: configuration.workers) { [work] _ in
      while let job = work.next() { job() }
    }
    daemon = hc_http_start_single(
      callbacks, UInt32(clamping: configuration.idleSeconds), Self.connectionBytes)
    guard daemon != nil else {
      throw ContentError.httpServerNotStarted(errno)
    }
  }

  deinit {
    stop()
    callbacks.deallocate()
  }

  /// Takes ownership of a connected socket.
  ///
  /// Closes it at once if there are too many connections.
  func add(_ descriptor: Int32) {
    connections.pass(descriptor, to: daemon)
  }

  /// Ends streams, waits for the responses of complete requests, and closes all connections.
  ///
  /// Call it after the last `add`. Two threads must not call it concurrently.
  func stop() {
    guard let daemon else {
      work.close()
      return
    }
    enter(.draining)
    configuration.onStop?()
    let result = unfinished.wait(timeout: .now() + configuration.stopTimeout.inSeconds)
    if result == .timedOut, let end = configuration.onStopTimeout {
      end()
      _ = unfinished.wait(timeout: .now() + Self.lastTimeout)
    }
    // Afterwards, no connection is suspended, as libmicrohttpd requires.
    enter(.closed)
    hc_http_stop(daemon)
    self.daemon = nil
    work.close()
    workers?.join()
  }

  private func enter(_ phase: ServerPhase) {
    let pendingResponses = state.withLock { state in
      state.phase = phase
      return Array(state.pendingResponses.values)
    }
    pendingResponses.forEach { $0.enter(phase) }
  }

  // MARK: Requests, on the daemon's thread

  /// Continues after the head, a part of the body or the end of a request has arrived, or after its
  /// connection was resumed.
  ///
  /// Returns false to close the connection.
  private func proceed(
    _ request: IncomingRequest, _ connection: SuspendableConnection,
    _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>, _ part: UnsafeRawBufferPointer
  ) -> Bool {
    guard request.hasHead else {
      let fields = connection.headers
      let head = RequestHead(
        method: String(cString: method), target: request.target,
        version: String(cString: version), fields: fields ?? [])
      request.begin(head)
      let problem: RequestHead.Refusal? =
        fields == nil ? .malformedLine : check(head, of: request)
      return problem.map { refuse(request, $0, connection) } ?? true
    }
    if !part.isEmpty { return request.append(part, limit: configuration.bodyLimit) }
    if let pending = request.pending {
      guard let response = pending.takeResponse() else { return false }
      return send(response, to: request, connection)
    }
    if request.bodySize > configuration.bodyLimit { return refuse(request, tooLong, connection) }
    if let head = request.head, let response = configuration.respondAtOnce?(head) {
      return send(response, to: request, connection)
    }
    return handOver(request, connection)
  }

  private var tooLong: RequestHead.Refusal {
    RequestHead.Refusal(413, "The body is longer than \(configuration.bodyLimit) bytes.")
  }

  /// Returns why a request is refused before its body, or nil.
  private func check(_ head: RequestHead, of request: IncomingRequest) -> RequestHead.Refusal? {
    if let refusal = head.refusal { return refusal }
    guard head.memory <= Self.headLimit else {
      return RequestHead.Refusal(431, "The target and the header fields are too long.")
    }
    guard request.hasLocation else { return .malformedTarget }
    let length = head.values(of: "content-length").first.map { Int($0) ?? .max } ?? 0
    return length > configuration.bodyLimit ? tooLong : nil
  }

  /// Responds to a bad request and closes the connection, because the next request may be hidden in
  /// this one.
  private func refuse(
    _ request: IncomingRequest, _ refusal: RequestHead.Refusal, _ connection: SuspendableConnection
  ) -> Bool {
    request.isLast = true
    return send(APIResponse(refusal), to: request, connection)
  }

  /// Passes a complete request to the handler, and suspends its connection until the response.
  private func handOver(_ request: IncomingRequest, _ connection: SuspendableConnection) -> Bool {
    let pending = PendingResponse(connection)
    let phase = state.withLock { state in
      guard state.phase != .closed else { return ServerPhase.closed }
      unfinished.enter()
      state.pendingResponses[ObjectIdentifier(pending)] = pending
      return state.phase
    }
    guard phase != .closed else { return false }
    request.pending = pending
    pending.enter(phase)
    connections.beginAnswer(connection.descriptor)
    guard let received = request.take(), pending.suspend() else { return false }
    work.add({ [handle] in handle(received) { pending.respond($0) } })
    return true
  }

  private func send(
    _ response: APIResponse, to request: IncomingRequest, _ connection: SuspendableConnection
  ) -> Bool {
    let isStream = if case .stream = response.body { true } else { false }
    connections.beginAnswer(
      connection.descriptor, within: isStream ? nil : configuration.responseTimeout)
    request.status = response.status
    if state.withLock({ $0.phase }) != .running { request.isLast = true }
    return connection.send(response, to: request)
  }

  private func complete(_ request: IncomingRequest, _ descriptor: Int32) {
    connections.endAnswer(descriptor)
    if let pending = request.pending {
      pending.end()
      _ = state.withLock { $0.pendingResponses.removeValue(forKey: ObjectIdentifier(pending)) }
      unfinished.leave()
    }
    guard let onRequest = configuration.onRequest, request.hasHead else { return }
    let handled = request.handled
    work.add({ onRequest(handled) })
  }

  /// Discards what the client has sent: closing a connection with unread bytes resets it, and the
  /// client could lose a response.
  private static func discardUnread(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer in
      for _ in 0..<64 {
        guard recv(descriptor, buffer.baseAddress, buffer.count, 0) > 0 else { return }
      }
    }
  }

  /// Sends a last response without libmicrohttpd.
  private static func send(_ response: APIResponse, to descriptor: Int32) {
    guard case .bytes(let body) = response.body else { return }
    let fields =
      response.headers + [
        ("Date", HTTPDate.text(HTTPDate.now)), ("Connection", "close"),
        ("Content-Length", "\(body.count)"),
      ]
    let lines =
      ["HTTP/1.1 \(response.status) \(HTTPStatus.reason(response.status))"]
      + fields.map { "\($0.name): \($0.value)" }
    let bytes = Array(lines.map { "\($0)\r\n" }.joined().utf8) + Array("\r\n".utf8) + body
    _ = bytes.withUnsafeBytes {
      Glibc.send(
        descriptor, $0.baseAddress, $0.count,
        Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
  }

  private static func callbacks(_ context: UnsafeMutableRawPointer) -> hc_http_callbacks {
    hc_http_callbacks(
      context: context,
      begin: { _, target in
        guard let target else { return nil }
        return Unmanaged.passRetained(IncomingRequest(String(cString: target))).toOpaque()
      },
      proceed: { context, request, connection, method, version, upload, uploaded in
        guard let context, let request, let connection, let method, let version, let uploaded
        else { return 0 }
        let part = UnsafeRawBufferPointer(start: upload, count: uploaded.pointee)
        uploaded.pointee = 0
        let continues = Unmanaged<APIDaemon>.fromOpaque(context).takeUnretainedValue().proceed(
          Unmanaged<IncomingRequest>.fromOpaque(request).takeUnretainedValue(),
          SuspendableConnection(connection), method, version, part)
        return continues ? 1 : 0
      },
      complete: { context, request, connection in
        guard let context, let request, let connection else { return }
        Unmanaged<APIDaemon>.fromOpaque(context).takeUnretainedValue().complete(
          Unmanaged<IncomingRequest>.fromOpaque(request).takeRetainedValue(),
          SuspendableConnection(connection).descriptor)
      },
      closed: { context, descriptor in
        guard let context else { return }
        Unmanaged<APIDaemon>.fromOpaque(context).takeUnretainedValue().connections
          .remove(descriptor)
        APIDaemon.discardUnread(descriptor)
      },
      refuse: { _, descriptor, status in
        APIDaemon.send(APIResponse(RequestHead.Refusal(unread: Int(status))), to: descriptor)
      })
  }
}

extension RequestHead {
  /// The approximate memory that libmicrohttpd needs for the head, and for a response that repeats
  /// the target, such as in `Link`.
  fileprivate var memory: Int {
    fields.reduce(2 * target.utf8.count) {
      $0 + $1.name.utf8.count + $1.value.utf8.count + 64
    }
  }
}

extension RequestHead.Refusal {
  /// Why libmicrohttpd refuses a request with this status before its head is read.
  fileprivate init(unread status: Int) {
    let reason =
      switch status {
      case 413: "The body is too long."
      case 414: "The request target is too long."
      case 431: "The header fields are too long."
      case 505: "The server supports only HTTP/1.0 and HTTP/1.1."
      case 500...: "The request does not fit into the memory of its connection."
      default: "The request is not valid HTTP."
      }
    self.init(status, reason)
  }
}

extension APIResponse {
  /// Creates the problem details for a refused request.
  fileprivate init(_ refusal: RequestHead.Refusal) {
    self =
      Problem(
        refusal.status,
        ContentError(.requestRefused, refusal.reason, remedy: "Correct the request")
      ).response
  }
}

import HostedHTTPValues
import HostedConcurrency
import Dispatch

/// Collects an answer in memory; the caller waits for it.
final class ResponseCollector: ExchangeHandler {
  private struct State {
    var response: TransferResponse
    /// The bytes of the body, including those that were not kept.
    var received = 0
  }

  private let state: Mutex<State>
  private let hasEnded = DispatchSemaphore(value: 0)
  private let request: TransferRequest
  private let isExamined: Bool
  private let clock: EngineClock

  /// The maximum bytes of an error page that are read to keep the connection.
  private static let errorPageLimit = 64 << 10

  /// Creates a handler for an answer to `request`.
  ///
  /// No status, encoding or length of an answer that is examined is a fault.
  init(_ request: TransferRequest, isExamined: Bool = false, clock: EngineClock) {
    state = Mutex(State(response: TransferResponse(from: request.url)))
    self.request = request
    self.isExamined = isExamined
    self.clock = clock
  }

  func receive(_ head: HTTPHead) -> TransferFault? {
    state.withLock { $0.response.message.head = head }
    if isExamined { return nil }
    if !request.returnsEveryStatus, TransferFault.isTemporary(head.status) {
      return TransferFault(statusOf: head, now: clock.now())
    }
    // An error page may have any length and encoding, since the status is the error.
    guard head.isSuccess else { return nil }
    if let encoding = head.encoding { return TransferFault(.encoded(encoding)) }
    if let length = head.contentLength, length > request.limit { return tooLong(head, []) }
    return nil
  }

  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer {
    state.withLock { state in
      let head = state.response.head
      let room = request.limit - state.response.body.count
      if body.count > room, head.isSuccess, !isExamined {
        return .refused(tooLong(head, state.response.body + body))
      }
      state.response.message.body += body.prefix(room)
      state.received += body.count
      if body.count > room { state.response.isCut = true }
      if isExamined { return state.response.isCut ? .complete : .taken }
      let length = max(Int64(state.received), head.contentLength ?? 0)
      return !head.isSuccess && length > Self.errorPageLimit ? .complete : .taken
    }
  }

  private func tooLong(_ head: HTTPHead, _ body: [UInt8]) -> TransferFault {
    if request.refusesPages, let page = head.isPage ? "text/html" : WebPage.type(of: body) {
      return TransferFault(.unexpectedType(page))
    }
    return TransferFault(.bodyTooLong, "More than \(request.limit) bytes")
  }

  func end(_ end: ExchangeEnd) {
    state.withLock { state in
      state.response.url = end.url
      state.response.certificateExpiry = end.certificateExpiry
      state.response.fault = end.fault
      guard request.refusesPages, end.fault == nil, state.response.head.isSuccess,
        let page = WebPage.type(of: state.response.body)
      else { return }
      state.response.fault = TransferFault(.unexpectedType(page))
    }
    hasEnded.signal()
  }

  func wait() -> TransferResponse {
    hasEnded.wait()
    return state.withLock { $0.response }
  }
}

import ContentTransfer
import Dispatch
import FoundationEssentials
import Concurrency

/// Sends look-ups over HTTPS, to this machine also over HTTP; certificates are checked, redirects
/// followed.
///
/// One serves a whole process: its connections are shared. May be used from any task.
public final class HTTPLookupTransport: LookupTransport {
  private let session: HTTPSession
  /// Waiting for an answer blocks a thread, which must not be one of the tasks' own.
  private let queue = DispatchQueue(label: "hostedcontent.look-ups", attributes: .concurrent)

  /// Creates a transport, which connects to nobody yet.
  public init() throws {
    var configuration = HTTPConfiguration()
    configuration.proxy = .environment(ProxyVariables(ProcessInfo.processInfo.environment))
    // One look-up at a time is what servers allow anyway, and threads are dear.
    configuration.limits.connections = 4
    session = try HTTPSession(configuration, pauses: .shared)
  }

  deinit { session.close() }

  /// Sends a request; an attempt that fails without an answer is made once more.
  ///
  /// Throws `insecureConnectionRefused` for plain HTTP, except to this machine.
  public func get(_ request: LookupRequest) async throws -> LookupResponse {
    let url = try WebURL(request.url.absoluteString)
    try url.checkSecure()
    var wanted = HTTPRequest(url, limit: request.limit)
    wanted.headers = request.headers.sorted { $0.key < $1.key }.map { HTTPHeader($0.key, $0.value) }
    wanted.deadline = request.timeout
    wanted.attempts = 2
    // The look-up itself keeps to what a server asks for, over all of its calls.
    wanted.returnsEveryStatus = true
    let ticket = TransferTicket()
    wanted.ticket = ticket
    return try await withTaskCancellationHandler {
      try await fetch(wanted)
    } onCancel: {
      ticket.cancel()
    }
  }

  private func fetch(_ request: HTTPRequest) async throws -> LookupResponse {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [session] in
        continuation.resume(
          with: Result {
            let response = try session.get(request)
            // From this machine a redirect may lead to plain HTTP elsewhere.
            try response.url.checkSecure()
            return LookupResponse(
              status: response.status, headers: response.headers, body: response.body)
          })
      }
    }
  }
}

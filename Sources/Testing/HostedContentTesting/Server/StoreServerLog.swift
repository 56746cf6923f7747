import HostedConcurrency
import HostedModel
import HostedStoreServer

/// The requests to a server, and its own failures.
///
/// It outlives the starts of the server. The server's threads keep it, and not the session, whose
/// deallocation waits for them.
final class StoreServerLog: Sendable {
  private let entries = Mutex((requests: [String](), errors: [ContentError]()))

  func add(_ request: HandledRequest) {
    let status = request.status.map { "\($0)" } ?? "closed"
    entries.withLock { $0.requests.append("\(request.method) \(request.path) \(status)") }
  }

  func add(_ error: ContentError) { entries.withLock { $0.errors.append(error) } }

  var requests: [String] { entries.withLock { $0.requests } }

  var errors: [ContentError] { entries.withLock { $0.errors } }
}

package import HostedHTTPValues
import HostedModel
import HostedConcurrency

/// A request and its response.
package struct ServedRequest: Sendable {
  package let request: HTTPRequest
  /// The status that was sent; nil if the connection was closed before.
  package let status: Int?
  /// The number of body bytes that were passed to the connection.
  package fileprivate(set) var bytesSent: Int64
  /// The lines of the fault script that acted.
  package let faults: [String]
  /// Whether the response has ended, completely or not.
  package fileprivate(set) var isFinished: Bool

  package var method: String { request.method }
  package var path: String { request.path }
  package var range: String? { request.headers["range"] }

  /// A line for an access log: five fields separated by spaces, and the faults.
  package var line: String {
    let fields = [
      Self.field(method), Self.field(request.target), Self.field(range ?? "-"),
      status.map(String.init) ?? "-", "\(bytesSent)",
    ]
    let acted = faults.isEmpty ? "" : "  # \(faults.joined(separator: "; ").printable())"
    return fields.joined(separator: " ") + acted
  }

  /// Escapes text from a client, so that it cannot create another field or line.
  private static func field(_ text: String) -> String {
    let scalars = text.printable(limit: 1_000).unicodeScalars.map { $0 == " " ? "\u{fffd}" : $0 }
    return String(String.UnicodeScalarView(scalars))
  }
}

/// The answered requests, in the order in which their responses began.
final class RequestLog: Sendable {
  private let entries = Mutex<[Entry]>([])
  private let keeps: Bool
  private let observer: (@Sendable (ServedRequest) -> Void)?

  /// The approximate maximum number of entries.
  ///
  /// Older ones are dropped.
  private static let maximum = 100_000

  init(keeps: Bool, observer: (@Sendable (ServedRequest) -> Void)?) {
    self.keeps = keeps
    self.observer = observer
  }

  /// A request with a response in progress.
  final class Entry: Sendable {
    private let state: Mutex<ServedRequest>

    fileprivate init(_ served: ServedRequest) { state = Mutex(served) }

    fileprivate var served: ServedRequest { state.withLock { $0 } }

    /// Counts `count` bytes of the body before they are sent, so that a client that has them finds
    /// them counted.
    func count(_ count: Int) { state.withLock { $0.bytesSent += Int64(count) } }

    fileprivate func finish() { state.withLock { $0.isFinished = true } }
  }

  /// Adds a request, before the first byte of its response is sent.
  func begin(_ request: HTTPRequest, status: Int?, faults: [String]) -> Entry {
    let entry = Entry(
      ServedRequest(
        request: request, status: status, bytesSent: 0, faults: faults, isFinished: false))
    guard keeps else { return entry }
    entries.withLock { entries in
      if entries.count >= 2 * Self.maximum { entries.removeFirst(Self.maximum) }
      entries.append(entry)
    }
    return entry
  }

  func finish(_ entry: Entry) {
    entry.finish()
    observer?(entry.served)
  }

  /// All requests in their current state.
  var requests: [ServedRequest] { entries.withLock { $0 }.map(\.served) }

  func clear() { entries.withLock { $0 = [] } }
}

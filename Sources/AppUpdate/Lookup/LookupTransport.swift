import ContentTransfer
public import FoundationEssentials

/// How requests reach a server for app versions; a caller may hand in its own.
public protocol LookupTransport: Sendable {
  /// Sends `request` and returns the answer of whatever status, with redirections followed, but not
  /// to plain HTTP: an answer may force an update on the user.
  ///
  /// Throws a `ContentError` when no answer came, when it took longer than the request's time-out,
  /// or when its body has more bytes than the request's limit.
  func get(_ request: LookupRequest) async throws -> LookupResponse
}

/// A GET request to a server for app versions.
public struct LookupRequest: Hashable, Sendable {
  /// The whole URL.
  public let url: URL
  /// Headers to send.
  public let headers: [String: String]
  /// The most bytes of a body that are taken.
  public let limit: Int
  /// Seconds until it fails.
  public let timeout: Double

  /// Makes a request; `isFresh` asks caches on the way for nothing older.
  public init(url: URL, isFresh: Bool = false, limit: Int = 16 << 20, timeout: Double = 20) {
    self.url = url
    headers =
      isFresh
      ? ["Accept": "application/json", "Cache-Control": "no-cache"]
      : ["Accept": "application/json"]
    self.limit = limit
    self.timeout = timeout
  }
}

/// An answer of a server for app versions.
public struct LookupResponse: Hashable, Sendable {
  /// The status.
  public let status: Int
  /// Headers by name in lower case.
  public let headers: [String: String]
  /// The body.
  public let body: [UInt8]

  /// Makes an answer; header names may be of any case.
  public init(status: Int, headers: [String: String] = [:], body: [UInt8]) {
    self.status = status
    self.headers = Dictionary(
      headers.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
    self.body = body
  }
}

/// What an answer means before its body is read.
enum LookupOutcome: Hashable {
  case body([UInt8])
  /// The server asks to wait for so many seconds.
  case wait(seconds: Double)
  case failed(ContentError)
}

extension LookupResponse {
  /// Sorts the answer by its status; 403, 429 and 503 ask to wait.
  ///
  /// Without a readable Retry-After the wait is a minute; it is never more than a day.
  func outcome(of url: URL, now: Date) -> LookupOutcome {
    switch status {
    case 200..<300: return .body(body)
    case 403, 429, 503:
      let asked = RetryPolicy.retryAfter(headers["retry-after"], now: now) ?? 60
      return .wait(seconds: min(asked, 86_400))
    case 500...:
      return .failed(
        ContentError(
          .serverFailed, "\(url.host() ?? "The server") answers with status \(status)",
          remedy: "Try again later", subject: url.absoluteString))
    case 400:
      let members = try? JSONField(document: body, limit: 64 << 10, source: "").members
      return .failed(
        ContentError(
          .queryInvalid, "\(url.host() ?? "The server") refuses the question",
          remedy: "Check what was asked for", subject: url.absoluteString,
          cause: members?["errorMessage"]?.string?.printable(limit: 200)))
    default:
      return .failed(
        ContentError(
          .requestRefused, "\(url.host() ?? "The server") answers with status \(status)",
          remedy: "Check the server's URL", subject: url.absoluteString))
    }
  }
}

import Concurrency
import Dispatch

/// A request whose answer is examined, whatever it is.
///
/// Unlike `HTTPRequest`, no status, encoding or length of the answer is an error.
package struct HTTPProbe: Sendable {
  package var url: WebURL
  /// Headers in addition to those that are always sent.
  ///
  /// `Accept-Encoding` replaces the default `identity`.
  package var headers: [HTTPHeader]
  /// The maximum bytes of the body; the rest is not read.
  package var limit: Int
  /// The maximum time of each attempt, in seconds.
  ///
  /// By default, a body of the maximum length may arrive at 100 kB/s.
  package var deadline: Double
  /// Whether the method is HEAD.
  package var isHead = false
  /// Whether the answer has the expiry of the server's certificate.
  ///
  /// The request then opens a connection.
  package var readsCertificate = false

  /// Creates a request for at most `limit` bytes of `url`.
  package init(_ url: WebURL, headers: [HTTPHeader] = [], limit: Int) {
    self.url = url
    self.headers = headers
    self.limit = limit
    deadline = 60 + Double(limit) / 100_000
  }
}

/// The answer to a probe.
package struct HTTPProbeAnswer: Sendable {
  /// The status, or 0 without an answer.
  package var status: Int
  /// The headers; names are in lower case.
  package var headers: [String: String]
  /// The start of the body.
  package var body: [UInt8]
  /// Whether the body is longer than the limit.
  package var isCut: Bool
  /// The URL of the answer, after redirects.
  package var url: WebURL
  /// Why the answer is incomplete or missing, or nil.
  package var fault: TransferFault?
  /// When the server's certificate expires, in seconds since 1970, or nil if it is unknown.
  package var certificateExpiry: Int64?

  /// Creates an answer.
  package init(
    _ status: Int, headers: [String: String] = [:], body: [UInt8] = [], isCut: Bool = false,
    from url: WebURL, fault: TransferFault? = nil, certificateExpiry: Int64? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isCut = isCut
    self.url = url
    self.fault = fault
    self.certificateExpiry = certificateExpiry
  }

  /// The declared length of the body, or nil if it is missing or ambiguous.
  package var contentLength: Int64? { HTTPHead(headers: headers).contentLength }

  /// The range in `Content-Range`, or nil if it is missing or malformed.
  package var range: Range<Int64>? { headers["content-range"].flatMap(ContentRange.init)?.bytes }

  /// The total length in `Content-Range`, or nil if it is missing or unknown.
  package var totalLength: Int64? { headers["content-range"].flatMap(ContentRange.init)?.total }

  /// The encoding of the body, or nil for the bytes as they were published.
  package var encoding: String? {
    let coding = (headers["content-encoding"] ?? "").lowercased()
    return coding.isEmpty || coding == "identity" ? nil : coding
  }

  /// Whether `Content-Type` is that of a web page.
  package var hasPageType: Bool { HTTPHead(headers: headers).isPage }

  package var isPage: Bool { WebPage.type(of: body) != nil }
}

extension HTTPSession {
  /// Sends `probe` and returns the answer, with any status.
  ///
  /// Blocks. A fault that may be temporary is retried once. Throws `usage` for malformed headers.
  package func answer(to probe: HTTPProbe) throws -> HTTPProbeAnswer {
    try Self.check(probe.headers, for: probe.url)
    let first = attempt(probe, isFresh: probe.readsCertificate)
    guard let fault = first.fault, !fault.isLasting else { return first }
    return attempt(probe, isFresh: true)
  }

  private func attempt(_ probe: HTTPProbe, isFresh: Bool) -> HTTPProbeAnswer {
    var exchange = ExchangeRequest(url: probe.url, headers: probe.headers)
    exchange.deadline = loop.clock.uptime() + probe.deadline
    exchange.memory = min(probe.limit, 1 << 20)
    exchange.idleFactor = .infinity
    exchange.isFresh = isFresh
    exchange.isHead = probe.isHead
    exchange.readsCertificate = probe.readsCertificate
    let handler = ProbeHandler(probe)
    _ = loop.submit(exchange, ticket: TransferTicket(priority: .max), handler: handler)
    return handler.wait()
  }
}

/// Collects the start of a body; the caller waits for it.
private final class ProbeHandler: ExchangeHandler {
  private let state: Mutex<HTTPProbeAnswer>
  private let hasEnded = DispatchSemaphore(value: 0)
  private let limit: Int

  init(_ probe: HTTPProbe) {
    state = Mutex(HTTPProbeAnswer(0, from: probe.url))
    limit = probe.limit
  }

  func receive(_ head: HTTPHead) -> TransferFault? {
    state.withLock { answer in
      answer.status = head.status
      answer.headers = head.headers
    }
    return nil
  }

  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer {
    state.withLock { answer in
      let room = limit - answer.body.count
      answer.body += body.prefix(room)
      guard body.count > room else { return .taken }
      answer.isCut = true
      return .complete
    }
  }

  func end(_ end: ExchangeEnd) {
    state.withLock { answer in
      answer.fault = end.fault
      answer.url = end.url
      answer.certificateExpiry = end.certificateExpiry
    }
    hasEnded.signal()
  }

  func wait() -> HTTPProbeAnswer {
    hasEnded.wait()
    return state.withLock { $0 }
  }
}

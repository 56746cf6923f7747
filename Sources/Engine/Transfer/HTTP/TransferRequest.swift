package import HostedHTTPValues

/// A request for a small answer, which is read into memory.
package struct TransferRequest: Sendable {
  package var url: WebURL
  /// The method.
  ///
  /// Redirects are only followed for GET and HEAD.
  package var method = "GET"
  /// The body, or nil for none; set its type with a header.
  package var body: [UInt8]?
  /// Whether a request with another method than GET may be retried.
  ///
  /// The server may then receive it several times.
  package var isRepeatable = false
  /// Headers in addition to those that are always sent.
  ///
  /// They are also sent after a redirect to another host, so secrets belong in
  /// `HTTPConfiguration.credentials`. `Accept-Encoding` replaces the default `identity`.
  package var headers: [HTTPHeader]
  /// The maximum bytes of the body; more throw `limitExceeded`.
  package var limit: Int
  /// The maximum time in seconds, including retries and waits.
  package var deadline = 90.0
  /// The maximum number of attempts, or nil for the session's retry policy.
  ///
  /// With the policy, answers 429 and 503 do not count as attempts.
  package var attempts: Int?
  /// Whether a web page is rejected as `answerUnusable`, since the file is not a web page.
  var refusesPages = false
  /// Whether every answer is returned, as `HTTPSession.examine` describes.
  var isExamined = false
  /// Whether temporary statuses are also returned, for callers with their own retry policy.
  package var returnsEveryStatus = false
  /// The time in seconds in which an answer may be silent, or nil for the session's timeouts.
  ///
  /// For servers that answer when something happens.
  package var stallTimeout: Double?
  /// Whether the response has the expiry of the server's certificate.
  package var readsCertificate = false
  /// Stops the request and counts its bytes, or nil if neither is needed.
  package var ticket: TransferTicket?

  package init(_ url: WebURL, headers: [HTTPHeader] = [], limit: Int) {
    self.url = url
    self.headers = headers
    self.limit = limit
  }

  /// Whether another attempt could do something twice.
  var isAttemptedOnce: Bool { method != "GET" && !isRepeatable }
}

/// The answer to a request, and how it arrived.
package struct TransferResponse: Sendable {
  /// The response, or as much of its body as was read; the status is 0 without an answer.
  package internal(set) var message: HTTPResponse<[UInt8]>
  /// The URL of the answer, after redirects.
  package internal(set) var url: WebURL
  /// Why the answer is incomplete or missing; nil for a response of `send`.
  package internal(set) var fault: TransferFault?
  /// Whether the body is longer than the limit.
  package internal(set) var isCut = false
  /// Whether an earlier attempt failed, which the server may have received.
  package internal(set) var isRepeated = false
  /// When the server's certificate expires, in seconds since 1970, or nil if it is unknown.
  package var certificateExpiry: Int64?

  package init(_ head: HTTPHead = HTTPHead(), body: [UInt8] = [], from url: WebURL) {
    message = HTTPResponse(head, body: body)
    self.url = url
  }

  package var head: HTTPHead { message.head }

  package var status: Int { message.status }

  package var headers: HTTPHeaders { message.headers }

  package var body: [UInt8] { message.body }

  package var isPage: Bool { WebPage.type(of: body) != nil }
}

import HostedModel
import HostedTestSupport
import Testing

@testable import HostedTransfer

@Suite("Faults, retry actions and errors")
struct TransferFaultTests {
  private static let table:
    [(
      TransferFault.Kind, ContentError.Code, TransferFault.RetryAction, isRetryable: Bool,
      host: Bool
    )] = [
      (.cancelled, .stopped, .none, true, false), (.unusableURL, .usage, .none, false, false),
      (.unresolved, .hostNotFound, .otherMirror, true, true),
      (.refused, .connectionRefused, .otherMirror, true, true),
      (.connectTimeout, .connectionTimedOut, .otherMirror, true, true),
      (.secureConnection, .secureConnectionFailed, .otherMirror, true, true),
      (.handshakeTimeout, .connectionTimedOut, .otherMirror, true, true),
      (.certificate, .certificateUntrusted, .elsewhere, false, true),
      (.authorities, .certificateUntrusted, .elsewhere, false, true),
      (.hostName, .secureConnectionFailed, .elsewhere, true, true),
      (.clientCertificate, .accessDenied, .elsewhere, false, true),
      (.proxyRefused(407), .accessDenied, .elsewhere, false, true),
      (.status(407), .accessDenied, .elsewhere, false, false),
      (.proxy, .proxyFailed, .otherMirror, true, true),
      (.network, .networkFailed, .later, true, false),
      (.expired, .accessDenied, .later, false, false),
      (.tooManyFiles, .tooManyFiles, .later, true, false),
      (.outOfMemory, .outOfMemory, .later, true, false),
      (.garbled, .answerUnusable, .later, true, false),
      (.stalled, .transferStalled, .later, true, false),
      (.cutShort, .connectionLost, .later, true, false),
      (.deadline, .timedOut, .none, true, false),
      (.headersTooLong, .answerUnusable, .later, true, false),
      (.bodyTooLong, .limitExceeded, .none, false, false),
      (.status(404), .storeMissing, .elsewhere, true, false),
      (.status(410), .storeMissing, .elsewhere, true, false),
      (.status(401), .accessDenied, .elsewhere, false, false),
      (.status(400), .requestRefused, .otherMirror, false, false),
      (.status(408), .requestRefused, .later, false, false),
      (.status(429), .serverBusy, .later, true, false),
      (.status(500), .serverFailed, .later, true, false),
      (.status(503), .serverFailed, .later, true, false),
      (.redirectRefused, .redirectRefused, .elsewhere, false, false),
      (.tooManyRedirects, .tooManyRedirects, .elsewhere, false, false),
      (.encoded("gzip"), .answerUnusable, .otherMirror, true, false),
      (.unexpectedType("text/html"), .answerUnusable, .otherMirror, true, false),
      (.wrongLength(7), .answerUnusable, .otherMirror, true, false),
      (.rangeIgnored, .answerUnusable, .wholeFile, true, false),
      (.rangeUnclear, .answerUnusable, .wholeFile, true, false),
      (.rangeElsewhere, .answerUnusable, .wholeFile, true, false),
      (.rangeRefused, .answerUnusable, .wholeFile, true, false),
      (.otherValidator, .answerUnusable, .plainRange, true, false),
      (.damaged, .pieceDamaged, .otherMirror, true, false),
    ]

  @Test("Each kind of fault has its code, its retry action and its scope")
  func kinds() throws {
    let url = try WebURL("http://a.example/b?secret=1")
    for (kind, code, retryAction, isRetryable, host) in Self.table {
      let fault = TransferFault(kind, "words")
      let error = ContentError(fault, from: url, subject: "b")
      #expect(error.code == code, "\(kind)")
      #expect(error.isRetryable == isRetryable, "\(kind)")
      #expect(fault.retryAction == retryAction, "\(kind)")
      #expect(fault.concernsHost == host, "\(kind)")
      #expect(error.subject == "b" && error.cause == "words")
      #expect(!error.description.contains("secret"), "\(kind)")
      #expect(!fault.name.isEmpty && !fault.name.contains("("), "\(kind)")
    }
    let asked = TransferFault(.status(503), retryAfter: 5)
    #expect(ContentError(asked, from: url, subject: "b").code == .serverBusy)
  }

  @Test(
    "Statistics name a fault in words",
    arguments: [
      (TransferFault.Kind.status(503), "status 503"), (.proxyRefused(407), "proxy status 407"),
      (.tooManyFiles, "too many files"), (.encoded("br"), "encoded"), (.stalled, "stalled"),
      (.unusableURL, "unusable URL"), (.rangeElsewhere, "other range"),
    ])
  func names(kind: TransferFault.Kind, name: String) {
    #expect(TransferFault(kind).name == name)
  }

  @Test("A server's message is printable in the error, and a long one is truncated")
  func printable() throws {
    let words = "a\u{1b}[31m\u{202e}\u{2028}b" + String(repeating: "c", count: 5_000)
    let url = try WebURL("http://127.0.0.1/\u{202e}?secret")
    for kind in [TransferFault.Kind.encoded(words), .unexpectedType(words), .network] {
      let text = "\(ContentError(TransferFault(kind, words), from: url, subject: "a"))"
      #expect(!text.unicodeScalars.contains { !$0.isPrintable }, "\(kind)")
      #expect(text.unicodeScalars.count < 1_500)
    }
  }
}

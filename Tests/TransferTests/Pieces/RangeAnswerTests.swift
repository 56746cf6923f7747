import HostedHTTPValues
import Foundation
import HostedTestSupport
import Testing

@testable import HostedTransfer

@Suite("Whether an answer matches the request")
struct RangeAnswerTests {
  private static let ranged = RangeQuestion(
    range: 100..<200, isWhole: false, fileLength: 1000, validator: "\"a\"")
  private static let whole = RangeQuestion(range: 0..<1000, isWhole: true, fileLength: 1000)

  struct Case: Sendable, CustomTestStringConvertible {
    let question: RangeQuestion
    let status: Int
    let headers: [String: String]
    /// The range of the body, or nil if the answer is refused.
    let place: Range<Int64>?
    let kind: TransferFault.Kind?

    var testDescription: String { "\(status) \(headers)" }

    static func good(
      _ question: RangeQuestion, _ status: Int, _ headers: [String: String], _ place: Range<Int64>
    ) -> Case {
      Case(question: question, status: status, headers: headers, place: place, kind: nil)
    }

    static func bad(
      _ question: RangeQuestion, _ status: Int, _ headers: [String: String],
      _ kind: TransferFault.Kind
    ) -> Case {
      Case(question: question, status: status, headers: headers, place: nil, kind: kind)
    }
  }

  static let cases: [Case] = [
    .good(
      ranged, 206, ["content-range": "bytes 100-199/1000", "content-length": "100"], 100..<200),
    .good(ranged, 206, ["content-range": "bytes 100-199/*"], 100..<200),
    .good(ranged, 206, ["content-range": "BYTES 100-150/1000"], 100..<151),
    .good(ranged, 206, ["content-range": "bytes 50-120/1000"], 50..<121),
    .good(ranged, 206, ["content-range": "bytes 150-999/1000"], 150..<1000),
    .good(ranged, 206, ["content-range": "bytes 100-199/1000", "etag": "\"b\""], 100..<200),
    .good(
      ranged, 206, ["content-range": "bytes 100-199/1000", "content-encoding": "identity"],
      100..<200),
    .bad(ranged, 206, [:], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes */1000"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes 199-100/1000"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes 100-1000/1000"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes -100/1000"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes 100-199"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "pages 100-199/1000"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes 100-99999999999999999999/*"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes 100-199/1000, bytes 1-2/3"], .rangeUnclear),
    .bad(
      ranged, 206, ["content-range": "bytes 100-199/1000", "content-length": "99"],
      .rangeUnclear),
    .bad(ranged, 206, ["content-type": "multipart/byteranges; boundary=x"], .rangeUnclear),
    .bad(ranged, 206, ["content-range": "bytes 100-199/1001"], .wrongLength(1001)),
    .bad(ranged, 206, ["content-range": "bytes 0-99/1000"], .rangeElsewhere),
    .bad(ranged, 206, ["content-range": "bytes 200-299/*"], .rangeElsewhere),
    .bad(ranged, 206, ["content-range": "bytes 100-1100/*"], .rangeElsewhere),
    .bad(
      ranged, 206, ["content-range": "bytes 100-199/1000", "content-encoding": "gzip"],
      .encoded("gzip")),
    .bad(ranged, 200, ["content-length": "1000"], .rangeIgnored),
    .bad(ranged, 200, [:], .rangeIgnored),
    .bad(ranged, 200, ["etag": "\"b\"", "content-length": "1000"], .otherValidator),
    .bad(ranged, 200, ["etag": "\"a\""], .rangeIgnored),
    .bad(ranged, 200, ["content-length": "999"], .wrongLength(999)),
    .bad(ranged, 200, ["content-type": "text/html"], .unexpectedType("text/html")),
    .bad(ranged, 416, ["content-range": "bytes */1000"], .rangeRefused),
    .bad(ranged, 416, [:], .rangeRefused),
    .bad(ranged, 416, ["content-range": "bytes */50"], .wrongLength(50)),
    .bad(ranged, 404, ["content-range": "bytes 100-199/1000"], .status(404)),
    .bad(ranged, 503, [:], .status(503)),
    .bad(ranged, 0, [:], .status(0)),
    .good(whole, 200, ["content-length": "1000"], 0..<1000),
    .good(whole, 200, [:], 0..<1000),
    .good(whole, 203, ["etag": "W/\"b\""], 0..<1000),
    .good(whole, 206, ["content-range": "bytes 0-499/1000"], 0..<500),
    .bad(whole, 200, ["content-length": "0"], .wrongLength(0)),
    .bad(whole, 200, ["content-encoding": "br"], .encoded("br")),
    .good(whole, 200, ["content-type": "text/html"], 0..<1000),
    .good(whole, 200, ["content-type": "text/html", "content-length": "1000"], 0..<1000),
    .bad(
      whole, 200, ["content-type": "Text/HTML; charset=x", "content-length": "999"],
      .unexpectedType("text/html")),
    .good(
      ranged, 206, ["content-range": "bytes 100-199/1000", "content-type": "text/html"], 100..<200),
    .bad(whole, 416, [:], .status(416)),
    .bad(whole, 204, [:], .status(204)),
    .bad(whole, 304, [:], .status(304)),
  ]

  @Test("Each answer is accepted with its range, or refused", arguments: cases)
  func judge(_ example: Case) {
    let head = HTTPHead(status: example.status, headers: HTTPHeaders(example.headers))
    do throws(TransferFault) {
      let answer = try RangeAnswer.judge(head, example.question, now: Date())
      #expect(answer.start..<answer.end == example.place)
    } catch {
      #expect(error.kind == example.kind)
    }
  }

  @Test("An answer with a declared length ends with its last byte")
  func promisedEnds() throws {
    let part = ["content-range": "bytes 100-199/1000"]
    let answers: [(RangeQuestion, Int, [String: String], isPromised: Bool)] = [
      (Self.whole, 200, [:], false), (Self.whole, 200, ["content-length": "1000"], true),
      (Self.ranged, 206, part, false),
      (Self.ranged, 206, part.merging(["content-length": "100"]) { $1 }, true),
    ]
    for (question, status, headers, isPromised) in answers {
      let head = HTTPHead(status: status, headers: HTTPHeaders(headers))
      let answer = try RangeAnswer.judge(head, question, now: Date())
      #expect(answer.isEndPromised == isPromised)
    }
  }

  @Test("Only strong validators are used")
  func validators() {
    let cases: [([String: String], String?)] = [
      ([:], nil), (["etag": "\"a\""], "\"a\""), (["etag": "W/\"a\""], nil), (["etag": "a"], nil),
      (["etag": "\""], nil), (["etag": "\"\(String(repeating: "x", count: 2000))\""], nil),
      (
        [
          "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Sun, 06 Nov 1994 08:50:37 GMT",
        ], "Sun, 06 Nov 1994 08:49:37 GMT"
      ),
      (
        [
          "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Sun, 06 Nov 1994 08:50:36 GMT",
        ], nil
      ),
      (["last-modified": "Sun, 06 Nov 1994 08:49:37 GMT"], nil),
      (["etag": "\"a\rX: b\""], nil), (["etag": "\"a\nX: b\""], nil), (["etag": "\"a\0\""], nil),
      (["etag": "\"a\u{1b}\""], nil), (["etag": "\"a\u{7f}\""], nil),
    ]
    for (headers, validator) in cases {
      #expect(Validator.strong(HTTPHead(status: 200, headers: HTTPHeaders(headers))) == validator)
    }
  }

  @Test("Headers are collected by line and per answer, with a limit")
  func head() {
    var collector = HeadCollector(limit: 200)
    func add(_ line: String) -> Bool { Array(line.utf8).withUnsafeBytes { collector.add($0) } }
    for line in ["HTTP/1.1 100 Continue\r\n", "X: 1\r\n", "\r\n", "HTTP/2 206 \r\n"] {
      #expect(add(line))
    }
    #expect(collector.head == HTTPHead(status: 206, version: "HTTP/2"))
    for line in [
      "Content-LENGTH:  12 \r\n", "no colon\r\n", "\u{fffd}: x\r\n", "\r\n", "Via:a\r\n",
      "vIA: \t b: c\n", "Empty:\r\n",
    ] {
      #expect(add(line))
    }
    #expect(collector.head.contentLength == 12)
    #expect(
      collector.head.headers.byName == [
        "content-length": "12", "\u{fffd}": "x", "via": "a, b: c", "empty": "",
      ])
    #expect(!add(String(repeating: "x", count: 200)))
    for (text, length) in [("12, 12", nil), ("+1", nil), ("", nil), ("7", 7)] as [(String, Int64?)]
    {
      #expect(HTTPHead(headers: ["content-length": text]).contentLength == length)
    }
  }
}

@Suite("Web pages in place of files")
struct WebPageTests {
  @Test(
    "A page is detected by its first bytes",
    arguments: [
      "<!DOCTYPE html><title>", " \r\n\t<HTML lang=en>", "\u{feff}<html>", "<script>location",
      "<?xml version='1.0'?>\n<!-- a --><!doctype HTML>", "<body>",
    ])
  func page(text: String) {
    #expect(WebPage.type(of: Array(text.utf8)) == "text/html")
  }

  @Test(
    "Other files are not pages",
    arguments: ["", "{\"a\": \"<html>\"}", "<plist>", "xar!", "<!-- <html>", "<htm", "<?xml "])
  func noPage(text: String) {
    #expect(WebPage.type(of: Array(text.utf8)) == nil)
  }
}

import HostedFileServer
import HostedHTTPValues
import HostedTestSupport
import Testing

/// Values that clients and servers share.
@Suite("Values of HTTP")
struct HTTPValuesTests {
  @Test("Names of headers are compared without regard to case, and repeated fields are joined")
  func headers() {
    var headers: HTTPHeaders = ["ETag": "\"a\"", "X-One": "1", "Accept": "a", "x-one": "2"]
    #expect(headers["etag"] == "\"a\"" && headers["ETAG"] == "\"a\"")
    #expect(headers["x-one"] == "1, 2" && headers.values(of: "X-ONE") == ["1", "2"])
    #expect(headers["x-on"] == nil && headers["x_one"] == nil && headers[""] == nil)
    #expect(headers["x\u{0d}one"] == nil, "only letters have two cases")
    #expect(headers.byName == ["etag": "\"a\"", "x-one": "1, 2", "accept": "a"])
    headers["X-ONE"] = "3"
    #expect(headers.fields.map(\.name) == ["ETag", "Accept", "X-ONE"])
    headers["accept"] = nil
    #expect(headers == ["ETag": "\"a\"", "X-ONE": "3"])
  }

  @Test(
    "A Content-Range that is written can be read",
    arguments: [0..<1, 5..<1_000, nil] as [Range<Int64>?])
  func contentRanges(bytes: Range<Int64>?) {
    let range = ContentRange(bytes: bytes, total: 1_000)
    #expect(ContentRange(range.text) == range)
    #expect(ContentRange("bytes 0-4/*") == ContentRange(bytes: 0..<5, total: nil))
    #expect(ContentRange(bytes: 0..<5, total: nil).text == "bytes 0-4/*")
  }

  @Test("The reasons of statuses are those of libmicrohttpd")
  func reasons() throws {
    let fixture = try ServerFixture {
      $0.routes["/status"] = { request in
        let status = request.location?.parameter("code").flatMap { Int($0) } ?? 500
        return HTTPResponse(status, text: "Status.")
      }
    }
    let known = (200..<600).filter { HTTPStatus.reason($0) != "Unknown" }
    #expect(known.count == 61)
    for status in known {
      let got = try fixture.get("/status?code=\(status)")
      let line = String(decoding: got.bytes.prefix { $0 != 13 }, as: UTF8.self)
      #expect(line == "HTTP/1.1 \(status) \(HTTPStatus.reason(status))")
    }
  }
}

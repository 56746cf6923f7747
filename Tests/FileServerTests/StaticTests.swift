import HostedHTTPValues
import HostedFileIO
import Glibc
import HostedFileServer
import HostedTestSupport
import Testing

@testable import HostedFileServer

@Suite("A store's files over HTTP")
struct StaticTests {
  private static let all = ServerFixture.file

  @Test("GET returns the file with validators, and HEAD the same headers")
  func whole() throws {
    let fixture = try ServerFixture()
    let got = try fixture.get()
    #expect(got.status == 200)
    #expect(got.body == Self.all)
    #expect(got.end == .closed)
    #expect(got.header("Content-Length") == "1000")
    #expect(got.header("Accept-Ranges") == "bytes")
    #expect(got.header("Content-Type") == "application/octet-stream")
    let head = try fixture.get(method: "HEAD")
    #expect(head.status == 200)
    #expect(head.body == [])
    for name in ["Content-Length", "ETag", "Last-Modified", "Content-Type", "Cache-Control"] {
      #expect(head.header(name) != nil)
      #expect(head.header(name) == got.header(name))
    }
  }

  @Test("An empty file is returned completely, even for a range request")
  func empty() throws {
    let fixture = try ServerFixture()
    for (headers, status) in [([], 200), (["Range: bytes=-1"], 200), (["Range: bytes=0-"], 416)] {
      let client = try fixture.client()
      client.request("GET", "/targets/empty", headers)
      #expect(client.receiveAll().status == status)
    }
    #expect(try fixture.get("/targets/empty").header("Content-Length") == "0")
  }

  @Test(
    "A valid range returns 206, an invalid one the whole file",
    arguments: [
      ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=990-", 990..<1_000),
      ("bytes=-10", 990..<1_000), ("bytes=-5000", 0..<1_000), ("bytes=0-99999", 0..<1_000),
      ("BYTES=5-6", 5..<7), ("bytes= 5 - 6 ", 5..<7),
      ("bytes=5-99999999999999999999999", 5..<1_000), ("bytes=0-1,5-6", nil), ("bytes=6-5", nil),
      ("bytes=-", nil), ("bytes=x-5", nil), ("bytes=5", nil), ("bytes", nil), ("", nil),
      ("lines=1-2", nil), ("bytes=+5-6", nil), ("bytes=--5", nil), ("bytes=1-2-3", nil),
    ] as [(String, Range<Int>?)])
  func ranges(header: String, range: Range<Int>?) throws {
    let got = try ServerFixture().get("/targets/file.bin", "Range: \(header)")
    #expect(got.status == (range == nil ? 200 : 206))
    #expect(got.body == Array(Self.all[range ?? 0..<1_000]))
    #expect(got.header("Content-Length") == "\((range ?? 0..<1_000).count)")
    #expect(
      got.header("Content-Range")
        == range.map { "bytes \($0.lowerBound)-\($0.upperBound - 1)/1000" })
  }

  @Test(
    "A range beyond the end is refused with the size",
    arguments: ["bytes=1000-", "bytes=1000-1001", "bytes=-0", "bytes=99999999999999999999-"])
  func unsatisfiable(header: String) throws {
    let got = try ServerFixture().get("/targets/file.bin", "Range: \(header)")
    #expect(got.status == 416)
    #expect(got.header("Content-Range") == "bytes */1000")
  }

  @Test("HEAD ignores a range")
  func rangeOfHead() throws {
    let got = try ServerFixture().get("/targets/file.bin", "Range: bytes=0-9", method: "HEAD")
    #expect(got.status == 200)
    #expect(got.header("Content-Length") == "1000")
    #expect(got.header("Content-Range") == nil)
  }

  @Test("Validators determine 304, 412, or whether the range is returned")
  func conditions() throws {
    let fixture = try ServerFixture()
    // The date of a file that was just changed is not a strong validator.
    var times = [
      timespec(tv_sec: 1_000_000_000, tv_nsec: 5), timespec(tv_sec: 1_000_000_000, tv_nsec: 5),
    ]
    #expect(utimensat(AT_FDCWD, fixture.folder.path("store/targets/file.bin"), &times, 0) == 0)
    let first = try fixture.get()
    let tag = try #require(first.header("ETag"))
    let date = "Sun, 09 Sep 2001 01:46:40 GMT"
    #expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
    #expect(first.header("Last-Modified") == date)
    let before = "Sat, 08 Sep 2001 01:46:40 GMT"
    let range = "Range: bytes=0-9"
    let table: [([String], Int)] = [
      (["If-None-Match: \(tag)"], 304), (["If-None-Match: W/\(tag)"], 304),
      (["If-None-Match: \"x\", \(tag)"], 304), (["If-None-Match: *"], 304),
      (["If-None-Match: \"x\""], 200),
      (["If-None-Match: \"x\"", "If-Modified-Since: \(date)"], 200),
      (["If-Modified-Since: \(date)"], 304), (["If-Modified-Since: \(before)"], 200),
      (["If-Modified-Since: nonsense"], 200), (["If-Match: \(tag)"], 200),
      (["If-Match: \"x\""], 412), (["If-Match: W/\(tag)"], 412), (["If-Match: *"], 200),
      (["If-Unmodified-Since: \(date)"], 200), (["If-Unmodified-Since: \(before)"], 412),
      ([range, "If-Range: \(tag)"], 206), ([range, "If-Range: W/\(tag)"], 200),
      ([range, "If-Range: \"x\""], 200), ([range, "If-Range: \(date)"], 206),
      ([range, "If-Range: \(before)"], 200), ([range, "If-None-Match: \(tag)"], 304),
    ]
    for (headers, status) in table {
      let client = try fixture.client()
      client.request("GET", "/targets/file.bin", headers)
      let got = client.receiveAll()
      #expect(got.status == status, "\(headers)")
      if status == 304 {
        #expect(got.body == [] && got.header("ETag") == tag)
        #expect(["1000", nil].contains(got.header("Content-Length")))
      }
    }
  }

  @Test("A date is a weak validator if the file may have changed in the same second")
  func freshDate() throws {
    let fixture = try ServerFixture()
    let request = HTTPRequest(
      "GET", "/f", headers: ["Range": "bytes=0-1", "If-Range": HTTPDate.text(1_000)])
    let folder = try fixture.folder.directory.directory(at: ["store", "targets"])
    var representation = Representation(try OpenedFile(folder.file("file.bin")), name: "file.bin")
    representation.validators.modified = 1_000
    #expect(!Conditions.rangeHolds(request.headers, representation.validators, now: 1_000))
    #expect(Conditions.rangeHolds(request.headers, representation.validators, now: 1_001))
  }

  @Test("The entity tag changes with the file, or is the digest in its name")
  func tags() throws {
    let fixture = try ServerFixture()
    let old = try fixture.get().header("ETag")
    let targets = try fixture.folder.directory.directory(at: ["store", "targets"])
    try targets.replaceFile("file.bin", with: Self.all)
    #expect(try fixture.get().header("ETag") != old)
    let named = try fixture.get("/targets/\(ServerFixture.digest).content.pkg")
    #expect(named.header("ETag") == "\"\(ServerFixture.digest)\"")
  }

  @Test("Immutable files can be cached forever, others are revalidated each time")
  func caching() throws {
    let fixture = try ServerFixture()
    let forGood = "public, max-age=31536000, immutable"
    for (path, type, caching) in [
      ("/metadata/timestamp.json", "application/json", "no-cache"),
      ("/metadata/1.root.json", "application/json", forGood),
      ("/metadata/3.targets.json", "application/json", forGood),
      ("/metadata/3.bin-0f.json", "application/json", forGood),
      ("/metadata/\(ServerFixture.digest).records.jsonl", "application/jsonl", forGood),
      ("/targets/\(ServerFixture.digest).content.pkg", "application/octet-stream", forGood),
      ("/targets/file.bin", "application/octet-stream", "no-cache"),
    ] {
      let got = try fixture.get(path)
      #expect(got.header("Content-Type") == type)
      #expect(got.header("Cache-Control") == caching)
    }
    #expect(try fixture.get("/metadata/2.root.json").header("Cache-Control") == "no-store")
  }

  @Test(
    "Paths are decoded once, and cannot reach other folders or hidden files",
    arguments: [
      ("/targets/file.bin", 200), ("/targets/file%2Ebin", 200), ("/%74argets/file.bin", 200),
      ("/targets/sp%C3%A4te%20k%C3%A4fer.txt", 200), ("/targets/file.bin?x=y", 200),
      ("http://elsewhere:80/targets/file.bin", 200), ("/", 404), ("/targets", 404),
      ("http://elsewhere?x=/targets/file.bin", 404),
      ("http://elsewhere/\u{301}x/targets/file.bin", 404),
      ("/targets/", 404), ("//targets/file.bin", 404), ("/targets//file.bin", 404),
      ("/targets/../targets/file.bin", 404), ("/../secret", 404), ("/%2e%2e/secret", 404),
      ("/targets/%2e%2e/%2e%2e/secret", 404), ("/..%2fsecret", 400), ("/targets%2ffile.bin", 400),
      ("/targets/file.bin%00", 400), ("/targets/file.bin%00.txt", 400), ("/targets/%zz", 400),
      ("/targets/file.bin%", 400), ("/targets/file.bin%2", 400), ("/targets/%ff", 400),
      ("/targets/.hidden", 404), ("/targets/inner", 404), ("/targets/outer", 404),
      ("/outside/secret", 404), ("/outside", 404), ("/store.keys/root.pem", 404),
      ("/targets/nothing", 404), ("/targets/file.bin/", 404), ("/targets/file.bin/x", 404),
      ("/targets/\(String(repeating: "x", count: 300))", 404), ("*", 400), ("nothing", 400),
      ("/targets/file.bin%252e", 404),
    ])
  func paths(target: String, status: Int) throws {
    #expect(try ServerFixture().get(target).status == status)
  }

  @Test("A name that begins with the byte of a dot is hidden, also before a combining mark")
  func combinedDot() throws {
    let fixture = try ServerFixture()
    let store = try fixture.folder.directory.directory("store")
    try store.createFile(".\u{301}hidden").write([1])
    // The mark before the dot belongs to the same `Character`.
    try store.createDirectory("a\u{600}.keys").createFile("root.pem").write([1])
    #expect(try fixture.get("/.%CC%81hidden").status == 404)
    #expect(try fixture.get("/a%D8%80.keys/root.pem").status == 404)
  }

  @Test("Other methods are refused, and their bodies are ignored")
  func methods() throws {
    let fixture = try ServerFixture()
    for (method, headers, text) in [
      ("POST", ["Content-Length: 5"], "hello"), ("DELETE", [], ""), ("OPTIONS", [], ""),
    ] {
      let client = try fixture.client()
      client.request(method, "/targets/file.bin", headers)
      client.send(text)
      let got = client.receiveAll()
      #expect(got.status == 405)
      #expect(got.header("Allow") == "GET, HEAD")
    }
  }

  @Test("A connection serves several requests")
  func keepAlive() throws {
    let fixture = try ServerFixture()
    let client = try fixture.client()
    // Each response is as long as the first one.
    var length = 1
    for count in 1...3 {
      client.request("GET", "/metadata/timestamp.json", keep: true)
      while client.bytes.count < count * length || client.bytes.last != UInt8(ascii: "}") {
        try #require(client.receive())
      }
      length = client.bytes.count / count
    }
    #expect(client.end == nil)
    #expect(fixture.server.requests.map(\.status) == [200, 200, 200])
  }

  @Test("Routes take precedence over files, and get the request's query")
  func routes() throws {
    let fixture = try ServerFixture {
      $0.routes = [
        "/lookup": { request in
          let id = request.location?.parameter("id") ?? "none"
          return HTTPResponse(
            200, contentType: "application/json", Array("{\"id\": \"\(id)\"}".utf8))
        }
      ]
    }
    let got = try fixture.get("/lookup?id=4%202&country=de")
    #expect(got.status == 200)
    #expect(String(decoding: got.body, as: UTF8.self) == "{\"id\": \"4 2\"}")
    #expect(got.header("Content-Type") == "application/json")
    #expect(try fixture.get("/lookup?id=%zz").status == 400)
    #expect(try fixture.get("/targets/file.bin").status == 200)
  }

  @Test("HTTP dates are formatted and parsed")
  func dates() {
    #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate.text(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(HTTPDate.text(951_782_400) == "Tue, 29 Feb 2000 00:00:00 GMT")
    for seconds in [0, 784_111_777, 951_782_400, 4_102_444_799] as [Int64] {
      #expect(HTTPDate.exactSeconds(HTTPDate.text(seconds)) == seconds)
    }
    for text in [
      "", "Sun, 06 Nov 1994", "Sunday, 06-Nov-94 08:49:37 GMT", "now", "19941106 08:49:37",
      "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 +0100", "Thu, 31 Feb 1994 08:49:37 GMT",
    ] {
      #expect(HTTPDate.exactSeconds(text) == nil, "\(text)")
    }
  }
}

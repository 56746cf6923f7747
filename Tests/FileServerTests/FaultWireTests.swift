import Glibc
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Each fault, as seen by a client that keeps every byte.
@Suite("Faults on the wire")
struct FaultWireTests {
  private static let all = ServerFixture.file
  private static let range = "Range: bytes=100-199"

  // MARK: Ends

  @Test("cut: closed after n bytes, before the end of the body")
  func cut() throws {
    let got = try ServerFixture("* cut 10").get()
    #expect(got.status == 200)
    #expect(got.header("Content-Length") == "1000")
    #expect(got.body == Array(Self.all[..<10]))
    #expect(got.end == .closed)
  }

  @Test("close: the connection ends before any byte")
  func close() throws {
    let fixture = try ServerFixture("* close once")
    let got = try fixture.get()
    #expect(got.bytes == [])
    #expect(got.end == .closed)
    #expect(try fixture.get().body == Self.all)
    #expect(fixture.server.requests.map(\.status) == [nil, 200])
  }

  @Test("reset: before the head, or after n bytes")
  func reset() throws {
    let before = try ServerFixture("* reset").get()
    #expect(before.bytes == [])
    #expect(before.end == .reset)
    // Bytes from before a reset may be lost, but no more bytes arrive.
    let later = try ServerFixture("* reset 10").get()
    #expect(Self.all[..<10].starts(with: later.body))
    #expect(later.end == .reset)
  }

  // MARK: Time

  @Test("stall: silence after n bytes until the client leaves")
  func stall() async throws {
    let fixture = try ServerFixture("* stall 10")
    let client = try fixture.client(receiving: 10)
    #expect(client.body == Array(Self.all[..<10]))
    #expect(fixture.server.requests.map(\.isFinished) == [false])
    client.leave()
    let served = await fixture.nextFinished()
    #expect(served?.bytesSent == 10)
    #expect(served?.faults == ["* stall 10"])
  }

  @Test("stall, drip, slow-head, latency and rate deliver every byte")
  func slow() throws {
    for rule in [
      "stall 10 30ms", "drip 400 15ms", "slow-head 50 10ms", "latency 30ms", "rate 20kB/s",
    ] {
      #expect(try ServerFixture("* \(rule)").get().body == Self.all, "\(rule)")
    }
    #expect(try ServerFixture("* rate 20kB/s").get(method: "HEAD").body == [])
  }

  @Test(
    "During a pause of a stall, drip, slow-head or latency, nothing is sent",
    arguments: [
      ("stall 10 10m", 10), ("drip 400 10m", 400), ("slow-head 50 10m", 0), ("latency 10m", 0),
    ])
  func pause(rule: String, bodyBytes: Int) async throws {
    let fixture = try ServerFixture("* \(rule)")
    let client = try fixture.client()
    client.request("GET", "/targets/file.bin")
    if bodyBytes > 0 { client.receive(body: bodyBytes) }
    await waitUntil { !fixture.server.requests.isEmpty }
    client.leave()
    let served = await fixture.nextFinished()
    #expect(served?.bytesSent == Int64(bodyBytes))
  }

  @Test("The server's own latency and rate keep the connection open")
  func line() throws {
    let fixture = try ServerFixture {
      $0.latency = .milliseconds(10)
      $0.rate = 100_000
    }
    let client = try fixture.client()
    for _ in 1...3 { client.request("GET", "/targets/file.bin", keep: true) }
    client.request("GET", "/metadata/timestamp.json")
    _ = client.receiveAll()
    #expect(fixture.server.requests.map(\.status) == [200, 200, 200, 200])
  }

  @Test("A response that is delayed for longer than the idle timeout still arrives", .slow)
  func idle() throws {
    let fixture = try ServerFixture("* latency 1.1s") { $0.limits.idleSeconds = 1 }
    #expect(try fixture.get().body == Self.all)
    #expect(try fixture.client().receiveAll().end == .closed, "an idle connection")
  }

  // MARK: Lengths

  @Test("content-length: missing, too large, too small, or any value")
  func contentLength() throws {
    let longest = "\(Int64.max)"
    for (words, length) in [
      ("none", nil), ("+5", "1005"), ("-5", "995"), ("7", "7"), ("+\(longest)", longest),
      ("-\(longest)", "0"),
    ] {
      let got = try ServerFixture("* content-length \(words)").get()
      #expect(got.status == 200)
      #expect(got.header("Content-Length") == length)
      #expect(got.header("Transfer-Encoding") == nil)
      #expect(got.body == Self.all)
      #expect(got.end == .closed)
    }
  }

  @Test("longer: bytes after the end of the body")
  func longer() throws {
    let got = try ServerFixture("* longer 5").get("/targets/file.bin", Self.range)
    #expect(got.status == 206)
    #expect(got.header("Content-Length") == "100")
    #expect(got.body == Array(Self.all[100..<200]) + [0, 0, 0, 0, 0])
  }

  @Test("endless: the body continues until the client leaves")
  func endless() async throws {
    let fixture = try ServerFixture("* endless")
    let client = try fixture.client(receiving: 300_000)
    #expect(client.header("Content-Length") == nil)
    #expect(client.body.starts(with: Self.all))
    #expect(client.end == nil)
    client.leave()
    #expect(await fixture.nextFinished()?.bytesSent ?? 0 >= 300_000)
  }

  @Test("A client that reads nothing is disconnected after the idle timeout", .slow)
  func unread() async throws {
    let fixture = try ServerFixture("* endless") { $0.limits.idleSeconds = 1 }
    let client = try fixture.client()
    client.request("GET", "/targets/file.bin")
    #expect(await fixture.nextFinished()?.isFinished == true)
    #expect(client.bytes == [])
  }

  // MARK: Ranges

  @Test("ignore-range: the whole file for a range request")
  func ignoreRange() throws {
    let got = try ServerFixture("* range ignore-range").get("/targets/file.bin", Self.range)
    #expect(got.status == 200)
    #expect(got.header("Content-Range") == nil)
    #expect(got.body == Self.all)
  }

  @Test("partial: another part than requested, with the correct Content-Range")
  func partial() throws {
    for (words, range) in [
      ("short 40", 100..<160), ("short 5000", 100..<101), ("shifted 50", 150..<250),
      ("shifted 850", 950..<1_000), ("overlapping 30", 70..<200), ("overlapping 5000", 0..<200),
    ] {
      let got = try ServerFixture("* partial \(words)").get("/targets/file.bin", Self.range)
      #expect(got.status == 206)
      #expect(
        got.header("Content-Range") == "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000")
      #expect(got.header("Content-Length") == "\(range.count)")
      #expect(got.body == Array(Self.all[range]))
    }
  }

  @Test("content-range: missing or wrong, with the correct bytes")
  func contentRange() throws {
    for (words, text) in [
      ("none", nil), ("shifted 7", "bytes 107-206/1000"), ("total 5", "bytes 100-199/5"),
      ("\"bytes 9-8/7\"", "bytes 9-8/7"),
    ] {
      let got = try ServerFixture("* content-range \(words)").get("/targets/file.bin", Self.range)
      #expect(got.status == 206)
      #expect(got.header("Content-Range") == text)
      #expect(got.body == Array(Self.all[100..<200]))
    }
    let whole = try ServerFixture("* content-range shifted 7").get()
    #expect(whole.status == 200 && whole.header("Content-Range") == nil)
  }

  @Test("unsatisfiable: 416 with or without the size")
  func unsatisfiable() throws {
    for (words, text) in [("", "bytes */1000"), (" bare", nil)] {
      let got = try ServerFixture("* unsatisfiable\(words)").get("/targets/file.bin", Self.range)
      #expect(got.status == 416)
      #expect(got.header("Content-Range") == text)
    }
  }

  // MARK: Other content

  @Test("validators: changed each time, weak, or none")
  func validators() throws {
    let fixture = try ServerFixture("/targets/* validators changed after 1")
    let answers = try (1...3).map { _ in try fixture.get() }
    #expect(Set(answers.map { $0.header("ETag") }).count == 3)
    #expect(Set(answers.map { $0.header("Last-Modified") }).count == 3)
    let tag = try #require(answers[0].header("ETag"))
    let resumed = try fixture.get("/targets/file.bin", Self.range, "If-Range: \(tag)")
    #expect(resumed.status == 200, "a correct server after the file has changed")

    try fixture.server.setFaults(FaultScript("* validators weak"))
    #expect(try fixture.get().header("ETag") == "W/\(tag)")
    try fixture.server.setFaults(FaultScript("* validators none"))
    let bare = try fixture.get()
    #expect(bare.header("ETag") == nil && bare.header("Last-Modified") == nil)
    #expect(bare.body == Self.all)
  }

  @Test("body changed: other bytes with the same validators; flip: one other byte")
  func damaged() throws {
    let fixture = try ServerFixture()
    let right = try fixture.get()
    try fixture.server.setFaults(FaultScript("* body changed once"))
    let changed = try fixture.get()
    #expect(changed.body == Self.all.map { ~$0 })
    #expect(changed.header("ETag") == right.header("ETag"))
    #expect(try fixture.get().body == Self.all)

    try fixture.server.setFaults(FaultScript("* flip 150"))
    var flipped = Self.all
    flipped[150] ^= 1
    #expect(try fixture.get().body == flipped)
    #expect(
      try fixture.get("/targets/file.bin", Self.range).body == Array(flipped[100..<200]),
      "counted from the start of the file")
  }

  @Test("gzip: a valid stream without Accept-Encoding")
  func gzip() throws {
    let got = try ServerFixture("* gzip").get()
    #expect(got.status == 200)
    #expect(got.header("Content-Encoding") == "gzip")
    #expect(got.header("Content-Length") == "\(got.body.count)")
    #expect(try Gunzip.run(got.body) == Self.all)
    let empty = try ServerFixture("* gzip").get("/targets/empty")
    #expect(empty.header("Content-Length") == "\(empty.body.count)")
    #expect(try Gunzip.run(empty.body) == [])
  }

  @Test("login-page: 200 and a page instead of the file")
  func loginPage() throws {
    let got = try ServerFixture("* login-page").get("/targets/file.bin", Self.range)
    #expect(got.status == 200)
    #expect(got.header("Content-Type") == "text/html; charset=utf-8")
    #expect(String(decoding: got.body, as: UTF8.self).hasPrefix("<!DOCTYPE html>"))
  }

  @Test("status: with Retry-After in seconds, as a date, or without")
  func status() throws {
    for status in [400, 401, 403, 404, 408, 410, 429, 500, 502, 503, 504, 599] {
      let got = try ServerFixture("* status \(status)").get()
      #expect(got.status == status)
      #expect(got.header("Retry-After") == nil)
      #expect(got.body != Self.all)
    }
    #expect(
      try ServerFixture("* status 503 retry-after 7").get().header("Retry-After") == "7")
    let date = try ServerFixture("* status 429 retry-after-date 3600").get().header("Retry-After")
    #expect(date?.hasSuffix(" GMT") == true)
  }

  @Test("redirect: in a loop, to another host, to another scheme")
  func redirect() throws {
    for (words, status, location) in [
      ("loop", 302, "/targets/file.bin?a=b"), ("loop 308", 308, "/targets/file.bin?a=b"),
      ("https://cdn.example{path}", 302, "https://cdn.example/targets/file.bin?a=b"),
      ("file:///etc/passwd 301", 301, "file:///etc/passwd"),
    ] {
      let got = try ServerFixture("* redirect \(words)").get("/targets/file.bin?a=b")
      #expect(got.status == status)
      #expect(got.header("Location") == location)
    }
  }

  @Test("huge-head: the given number of bytes in headers", .slow)
  func hugeHead() throws {
    let got = try ServerFixture("* huge-head 300kB").get()
    #expect(got.status == 200)
    #expect(got.bytes.count > 300_000 + Self.all.count)
    #expect(got.body == Self.all)
  }

  @Test("slow-head and cut act on HEAD and 304, which have no body")
  func withoutBody() throws {
    let fixture = try ServerFixture("* slow-head 100 1ms\n* cut 5")
    for got in [
      try fixture.get(method: "HEAD"), try fixture.get("/targets/file.bin", "If-None-Match: *"),
    ] {
      #expect([200, 304].contains(got.status))
      #expect(got.body == [])
    }
  }

  // MARK: Together

  @Test("Several faults act on one request, and the log names them")
  func together() throws {
    let fixture = try ServerFixture("* range partial short 10\n*.bin cut 30 once\n/other close")
    let first = try fixture.get("/targets/file.bin", Self.range)
    #expect(first.header("Content-Length") == "90")
    #expect(first.body == Array(Self.all[100..<130]))
    #expect(try fixture.get("/targets/file.bin", Self.range).body == Array(Self.all[100..<190]))
    let served = fixture.server.requests
    #expect(
      served.map(\.faults) == [
        ["* range partial short 10", "*.bin cut 30 once"], ["* range partial short 10"],
      ])
    #expect(served.map(\.bytesSent) == [30, 90])
    #expect(served.map(\.range) == ["bytes=100-199", "bytes=100-199"])
    #expect(served[0].line.hasPrefix("GET /targets/file.bin bytes=100-199 206 30  # "))
  }
}

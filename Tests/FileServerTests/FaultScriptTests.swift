import HostedHTTPValues
import HostedModel
import HostedFileServer
import Testing

@testable import HostedFileServer

@Suite("Fault scripts")
struct FaultScriptTests {
  @Test("Every fault is parsed, in rules with pattern, filter, fault and schedule")
  func forms() throws {
    let table: [(String, Fault)] = [
      ("close", .transmission(.close)), ("reset", .transmission(.reset(nil))),
      ("reset 5", .transmission(.reset(5))), ("cut 1kB", .transmission(.cut(1_000))),
      ("stall 3", .transmission(.stall(3, nil))),
      ("stall 3 20ms", .transmission(.stall(3, .milliseconds(20)))),
      ("drip 2 1.5s", .transmission(.drip(2, .milliseconds(1_500)))),
      ("latency 2m", .transmission(.latency(.seconds(120)))),
      ("rate 1MiB/s", .transmission(.rate(1 << 20))), ("longer 7", .transmission(.longer(7))),
      ("endless", .transmission(.endless)),
      ("content-length none", .transmission(.contentLength(.none))),
      ("content-length +5", .transmission(.contentLength(.off(by: 5)))),
      ("content-length -5", .transmission(.contentLength(.off(by: -5)))),
      ("content-length 5", .transmission(.contentLength(.exactly(5)))),
      ("slow-head 1 1ms", .transmission(.slowHead(1, .milliseconds(1)))),
      ("huge-head 1MB", .transmission(.hugeHead(1_000_000))),
      ("ignore-range", .resource(.ignoreRange)),
      ("validators changed", .resource(.validators(.changed))),
      ("validators weak", .resource(.validators(.weak))),
      ("validators none", .resource(.validators(.none))), ("body changed", .resource(.changeBody)),
      ("partial short 5", .answer(.partial(.short(5)))),
      ("partial shifted 5", .answer(.partial(.shifted(5)))),
      ("partial overlapping 5", .answer(.partial(.overlapping(5)))),
      ("content-range none", .answer(.contentRange(.none))),
      ("content-range shifted 5", .answer(.contentRange(.shifted(5)))),
      ("content-range total 5", .answer(.contentRange(.total(5)))),
      ("content-range \"bytes 0-0/1\"", .answer(.contentRange(.text("bytes 0-0/1")))),
      ("unsatisfiable", .answer(.unsatisfiable(bare: false))),
      ("unsatisfiable bare", .answer(.unsatisfiable(bare: true))), ("gzip", .answer(.gzip)),
      ("login-page", .answer(.loginPage)), ("status 404", .answer(.status(404, nil))),
      ("status 503 retry-after 9", .answer(.status(503, .seconds(9)))),
      ("status 503 retry-after-date 9", .answer(.status(503, .date(9)))),
      ("redirect loop", .answer(.redirect("{path}", status: 302))),
      ("redirect http://a/{path} 307", .answer(.redirect("http://a/{path}", status: 307))),
      ("flip 12", .answer(.flip(at: 12))),
    ]
    for (text, fault) in table {
      for (schedule, expected) in [
        ("", FaultRule.Schedule()), (" always", .init()), (" once", .init(count: 1)),
        (" 2 times", .init(count: 2)), (" after 3", .init(skipped: 3)),
        (" after 3 once", .init(skipped: 3, count: 1)),
        (" after 3 4 times  # why", .init(skipped: 3, count: 4)),
      ] {
        let rule = try #require(try FaultScript("/a* GET range \(text)\(schedule)").rules.first)
        #expect(rule.fault == fault, "\(text)\(schedule)")
        #expect(rule.schedule == expected, "\(text)\(schedule)")
        #expect(rule.filter == .init(method: "GET", hasRange: true))
        #expect(rule.pattern.text == "/a*")
      }
    }
    let names = Set(table.map { String($0.0.prefix { $0 != " " }) }).union(["tls"])
    #expect(names == Set(FaultName.allCases.map(\.rawValue)), "every name is in the table")
    #expect(
      try FaultScript("* tls refuse once\n* tls certificate a b").rules.map(\.fault) == [
        .connection(.refuse), .connection(.certificate(Certificate(chain: "a", key: "b"))),
      ])
  }

  @Test("Comments and empty lines are ignored")
  func comments() throws {
    #expect(try FaultScript("").rules.isEmpty)
    #expect(try FaultScript("# a\n\n   \t\n  # b").rules.isEmpty)
    #expect(
      try FaultScript("/a#b close # c\r\n* close").rules.map(\.text) == ["/a#b close", "* close"])
  }

  @Test(
    "A syntax error is reported with its line",
    arguments: [
      ("close", "“close” is not a pattern"), ("/a", "The fault is missing"),
      ("/a PUT close", "Unknown fault “PUT”"), ("/a clsoe", "Unknown fault “clsoe”"),
      ("/a cut", "a number of bytes is missing"), ("/a cut x", "“x” is not a number of bytes"),
      ("/a cut -1", "“-1” is not a number of bytes"),
      ("/a cut 99999999999999999999", "is not a number of bytes"),
      ("/a cut 10000000000GB", "is not a number of bytes"), ("/a drip 0 1s", "above 0"),
      ("/a drip 1 5", "“5” is not a time"), ("/a latency 1h", "“1h” is not a time"),
      ("/a latency 2000m", "“2000m” is not a time"), ("/a rate 5MB", "“5MB” is not a rate"),
      ("/a rate 0/s", "is not a rate"), ("/a status 200", "a status from 400 to 599"),
      ("/a status 503 retry-after", "a number of seconds is missing"),
      ("/a redirect", "loop or a URL is missing"), ("/a partial long 5", "short, shifted or"),
      ("/a content-range x", "“x” is not none, shifted"), ("/a body gone", "“gone” is not changed"),
      ("/a content-range \"bytes", "A quotation mark is not closed"),
      ("/a validators old", "changed, weak or none"),
      ("/a close twice", "Unexpected “twice” after"),
      ("/a close 0 times", "“0” is not a number of times"), ("/a close 5", "Unexpected “5” after"),
      ("/a close after", "a number of requests is missing"),
      ("/a tls close", "a path or a filter"), ("* GET tls close", "before the request"),
      ("* tls open", "close, refuse, stall or certificate"), ("* tls certificate a", "is missing"),
    ])
  func mistakes(line: String, words: String) throws {
    let error = #expect(throws: ContentError.self) {
      try FaultScript("# first\n* close once\n\(line)\n", name: "faults.txt")
    }
    #expect(error?.code == .usage)
    #expect(error?.message.hasPrefix("Line 3 of faults.txt: ") == true, "\(error?.message ?? "")")
    #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    #expect(error?.remedy.isEmpty == false)
  }

  @Test("A star matches any characters and a question mark matches one")
  func patterns() {
    for (pattern, path, fits) in [
      ("*", "/a/b", true), ("*", "", true), ("/a", "/a", true), ("/a", "/ab", false),
      ("*.pkg", "/x/y.pkg", true), ("*.pkg", "/x/y.pkgs", false), ("/x/*", "/x/", true),
      ("/*/b*c", "/a/b/bc", true), ("/*a*a*", "/baab", true), ("/*a*a*", "/bab", false),
      ("/?", "/a", true), ("/?", "/", false), ("/?", "/ab", false), ("/*?", "/", false),
      ("/**x", "/yx", true), ("/\u{e4}?", "/\u{e4}\u{f6}", true), ("", "/", false),
    ] {
      #expect(Glob(text: pattern).matches(path) == fits, "\(pattern) \(path)")
    }
    let stars = String(repeating: "*a", count: 30)
    #expect(!Glob(text: stars).matches(String(repeating: "a", count: 29)), "not exponential")
  }

  @Test("Each rule counts the requests for each path that it matches")
  func counting() throws {
    let book = FaultBook(
      try FaultScript("/a* GET flip 1 after 1 2 times\n* range flip 2 once\n* HEAD flip 3"))
    func flips(_ method: String, _ path: String, range: Bool = false) -> [Int64] {
      let headers: HTTPHeaders = range ? ["Range": "bytes=0-1"] : [:]
      return book.occurrences(for: HTTPRequest(method, path, headers: headers)).compactMap {
        if case .answer(.flip(let place)) = $0.fault { place } else { nil }
      }
    }
    #expect(flips("GET", "/a") == [])
    #expect(flips("HEAD", "/a") == [3])
    #expect(flips("GET", "/a", range: true) == [1, 2])
    #expect(flips("GET", "/ab") == [])
    #expect(flips("GET", "/a", range: true) == [1])
    #expect(flips("GET", "/a") == [])
    #expect(flips("GET", "/b", range: true) == [2])
    #expect(flips("GET", "/b", range: true) == [])
    book.set(try FaultScript("* range flip 2 once"))
    #expect(flips("GET", "/b", range: true) == [2], "new rules, and counters from zero")
  }

  @Test("The steps of a body are reproducible")
  func steps() {
    func steps(_ length: Int64, _ change: (inout Transmission.Disturbance) -> Void) -> [BodySteps
      .Step]
    {
      var disturbance = Transmission.Disturbance()
      change(&disturbance)
      var steps = BodySteps(length: length, disturbance)
      var found: [BodySteps.Step] = []
      while found.count < 9, ![.end, .cut, .reset].contains(found.last) {
        found.append(steps.next())
      }
      return found
    }
    let pause = BodySteps.Step.pause(.seconds(1))
    #expect(steps(5) { _ in } == [.send(5), .end])
    #expect(steps(0) { _ in } == [.end])
    #expect(steps(5) { $0.surplus = 2 } == [.send(7), .end])
    #expect(steps(5) { $0.end = .cut(3) } == [.send(3), .cut])
    #expect(steps(5) { $0.end = .cut(9) } == [.send(5), .cut])
    #expect(steps(5) { $0.end = .reset(0) } == [.reset])
    #expect(
      steps(5) { $0.stall = .init(offset: 2, time: .seconds(1)) } == [
        .send(2), pause, .send(3), .end,
      ])
    #expect(steps(5) { $0.stall = .init(offset: 5, time: nil) } == [.send(5), .pause(nil), .end])
    #expect(steps(5) { $0.stall = .init(offset: 9, time: nil) } == [.send(5), .end])
    #expect(
      steps(5) { $0.drip = .init(bytes: 2, time: .seconds(1)) }
        == [.send(2), pause, .send(2), pause, .send(1), .end])
    #expect(steps(5) { $0.isEndless = true } == [.send(.max)] + [.end])
    #expect(
      steps(5) {
        $0.isEndless = true
        $0.end = .cut(8)
      } == [.send(8), .cut])
  }

  @Test("The rate limit compensates for late wake-ups, and limits the credit for idle time")
  func rate() {
    let start = ContinuousClock.now
    let limiter = SendPacer(bytesPerSecond: 1_000, now: start)
    func delay(of count: Int, now: ContinuousClock.Instant) -> Int {
      Int((limiter.delay(of: count, now: now) / .milliseconds(1)).rounded())
    }
    #expect(delay(of: 500, now: start) == 500)
    #expect(delay(of: 500, now: start) == 1_000)
    // Woken 15 ms late: the next part ends at the time when it would have ended otherwise.
    let late = start + .milliseconds(1_015)
    #expect(delay(of: 100, now: late) == 85)
    let idle = start + .seconds(60)
    #expect(delay(of: 100, now: idle) == 80)
  }

  @Test("Quantities with units are parsed")
  func amounts() {
    for (text, bytes) in [
      ("0", 0), ("12", 12), ("1kB", 1_000), ("1KiB", 1_024), ("2MB", 2_000_000), ("1GiB", 1 << 30),
      ("", nil), ("kB", nil), ("1.5MB", nil), ("-1", nil), ("+1", nil), ("1 kB", nil), ("1k", nil),
      ("1TB", nil),
    ] as [(String, Int64?)] {
      #expect(Quantities.bytes(text) == bytes, "\(text)")
    }
    for (text, time) in [
      ("5ms", .milliseconds(5)), ("1.5s", .milliseconds(1_500)), ("2m", .seconds(120)),
      ("0s", .zero), ("5", nil), ("s", nil), ("-1s", nil), ("1e3s", nil), ("nans", nil),
      ("infs", nil), ("99999999s", nil), ("1..2s", nil),
    ] as [(String, Duration?)] {
      #expect(Quantities.time(text) == time, "\(text)")
    }
    #expect(Quantities.rate("50MB/s") == 50_000_000)
    #expect(Quantities.rate("50MB") == nil)
    #expect(Quantities.rate("0/s") == nil)
  }
}

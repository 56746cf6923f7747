import Foundation
import HostedConcurrency
import HostedTestSupport
import Testing

@testable import HostedTransfer

@Suite("Retry and health of mirrors")
struct RetryTests {
  @Test("Back-off doubles up to its maximum, and jitter selects any part of it")
  func backOff() {
    let policy = RetryPolicy()
    let ceilings = (1...8).map { policy.delay(afterFailure: $0, retryAfter: nil, random: 1) }
    #expect(ceilings == [0.5, 1, 2, 4, 8, 10, 10, 10])
    for failure in [1, 3, 40, 1000] {
      #expect(policy.delay(afterFailure: failure, retryAfter: nil, random: 0) == 0)
      let half = policy.delay(afterFailure: failure, retryAfter: nil, random: 0.5)
      #expect(half * 2 == policy.delay(afterFailure: failure, retryAfter: nil, random: 1))
    }
  }

  @Test("Retry-After is respected up to a maximum")
  func retryAfter() {
    let policy = RetryPolicy()
    for (asked, waited) in [(0.0, 0.25), (5, 5), (60, 60), (61, 60), (1e9, 60), (-5, 0.25)] {
      #expect(policy.delay(afterFailure: 1, retryAfter: asked, random: 0.5) == waited)
    }
  }

  @Test("Retry-After is parsed as seconds and as a date in each form")
  func header() throws {
    let now = Date(timeIntervalSince1970: 784_111_777)  // 1994-11-06 08:49:37
    let cases: [(String?, Double?)] = [
      (nil, nil), ("", nil), ("soon", nil), ("-5", nil), ("1.5", nil), ("0", 0), ("120", 120),
      (" 7 ", 7), ("99999999999999999999", nil),
      ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
      ("Sun Nov  6 08:50:37 1994", 60), ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
      ("Mon, 07 Nov 1994 08:49:37 GMT", 86_400), ("Thu, 29 Feb 1996 00:00:00 GMT", 41_440_223),
      ("Sun, 06 Nov 1994 25:00:00 GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
    ]
    for (text, seconds) in cases {
      #expect(RetryPolicy.retryAfter(text, now: now) == seconds, "\(text ?? "nil")")
    }
  }

  @Test("A host recovers automatically, and one success clears its failures")
  func health() throws {
    let uptime = Mutex(1.0)
    let session = try HTTPSession(
      clock: EngineClock(
        now: { Date(timeIntervalSince1970: 0) }, uptime: { uptime.withLock { $0 } }),
      random: { 1 })
    func found(_ origin: String) -> Health? { session.health[origin] }
    let fault = TransferFault(.refused)
    #expect(found("a")?.delay == nil)
    session.health.note(fault, from: "a", startedAt: 0, on: session.loop)
    #expect(found("a")?.delay?.until == 1.5)
    uptime.withLock { $0 = 3 }
    session.health.note(fault, from: "a", startedAt: 2, on: session.loop)
    #expect(found("a")?.delay?.until == 4)
    #expect(found("a")?.failures == 2)
    #expect(found("b")?.delay == nil)
    session.health.note(TransferFault(.cutShort), from: "b", startedAt: 3, on: session.loop)
    #expect(found("b")?.delay == nil)
    session.health.note(nil, from: "a", startedAt: 3, on: session.loop)
    #expect(found("a")?.delay == nil)
  }

  @Test("A mirror's delay comes from the random source of its session, once per failure")
  func injectedRandomness() throws {
    let draws = Mutex([0.25, 0.75])
    let session = try HTTPSession(
      clock: EngineClock(now: { Date(timeIntervalSince1970: 0) }, uptime: { 100 }),
      random: { draws.withLock { $0.removeFirst() } })
    let addresses = try ["http://a/file", "http://b/file"].map { try WebURL($0) }
    var book = MirrorBook(rates: [nil, nil])
    // The first fault concerns the host, the second one the file.
    session.health.note(
      TransferFault(.refused), from: addresses[0].origin, startedAt: 100, on: session.loop)
    book[1].health.fail(
      TransferFault(.cutShort), startedAt: 100, now: 100, session.configuration.retry,
      random: session.loop.random())
    let hosts = addresses.map(session.host)
    #expect(book.choose(hosts, at: 100).notBefore == 100.125)
    book.refuse(at: 0, startedAt: 100, now: 100)
    book.refuse(at: 0, startedAt: 100, now: 100)
    #expect(book.choose(hosts, at: 100).notBefore == 100.375)
    #expect(draws.withLock { $0.isEmpty })
  }

  @Test("Parallel failures with the same cause count once")
  func oneCause() {
    let (fault, policy) = (TransferFault(.network), RetryPolicy())
    var health = Health()
    for now in [10.0, 10.1, 10.2, 10.3] {
      health.fail(fault, startedAt: 5, now: now, policy, random: 1)
    }
    #expect(health.failures == 1)
    health.fail(fault, startedAt: 11, now: 12, policy, random: 1)
    #expect(health.failures == 2)
  }

  @Test("Mirrors without a delay come first, then the healthiest")
  func choice() {
    let fault = TransferFault(.refused)
    typealias Candidate = MirrorChoice.Candidate
    let late = Candidate(delays: [(20, fault)], failures: 1)
    let later = Candidate(delays: [(30, fault)], failures: 1)
    let healed = Candidate(delays: [(5, fault)], failures: 3)
    let whole = Candidate(ranges: false)
    let cases: [([Candidate], mirror: Int, notBefore: Double)] = [
      ([Candidate()], 0, 10), ([Candidate(), Candidate()], 0, 10), ([late, Candidate()], 1, 10),
      ([late, later], 0, 20), ([later, late], 1, 20), ([healed, Candidate()], 1, 10),
      ([late, healed], 1, 10), ([whole, Candidate()], 1, 10), ([whole, healed], 0, 10),
    ]
    for (number, (candidates, mirror, notBefore)) in cases.enumerated() {
      let choice = MirrorChoice(among: candidates, at: 10)
      #expect(choice.mirror == mirror, "case \(number)")
      #expect(choice.notBefore == notBefore, "case \(number)")
      #expect((choice.fault != nil) == (notBefore > 10), "case \(number)")
    }
    let both = Candidate(delays: [(20, fault), (25, TransferFault(.unresolved))])
    #expect(MirrorChoice(among: [both], at: 10).fault?.kind == .unresolved)
  }

  @Test("Redirects may use http and https, without a downgrade, up to a limit")
  func redirects() throws {
    let plain = try WebURL("http://a.example/x")
    let secure = try WebURL("https://a.example/x")
    let cases: [(WebURL, String?, Int, TransferFault.Kind?)] = [
      (plain, "http://b.example/", 1, nil), (plain, "https://b.example/", 5, nil),
      (secure, "https://b.example/", 1, nil), (secure, "http://a.example/y", 1, .redirectRefused),
      (plain, "file:///etc/passwd", 1, .redirectRefused), (plain, nil, 1, .redirectRefused),
      (plain, "ftp://a.example/", 1, .redirectRefused),
      (plain, "http://u:p@b.example/", 1, .redirectRefused),
      (plain, "http://b.example/", 6, .tooManyRedirects),
    ]
    for (url, target, number, kind) in cases {
      switch RedirectRule.follow(from: url, to: target, number: number) {
      case .success(let next): #expect(kind == nil && next.text == target)
      case .failure(let fault): #expect(fault.kind == kind)
      }
    }
  }
}

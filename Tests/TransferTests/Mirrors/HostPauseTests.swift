import HostedModel
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedTransfer

@Suite("Hosts that answer 429 or 503", .waiting, .timeLimit(.hang))
struct HostPauseTests {
  private let policy = RetryPolicy()
  private let busy = TransferFault(.status(503))

  private func refused(_ fault: TransferFault, random: Double = 1) -> HostPause {
    var pause = HostPause(fault)
    pause.refuse(0, fault, startedAt: 0, at: 1, policy, random: random)
    return pause
  }

  @Test("After a pause, one request probes, and others follow its answer at intervals")
  func probe() {
    var pause = refused(busy)
    #expect(pause.start(1, at: 1.4) == 1.5)
    #expect(pause.start(1, at: 1.5) == nil)
    #expect(pause.start(2, at: 1.6) == 1.75)
    #expect(pause.start(2, at: 60) == 60.25)
    pause.answer(1, at: 61)
    #expect(pause.refusals == 0 && pause.refusedSince == nil)
    let next = pause.opening(at: 61)
    #expect(next > 61 && next <= 61.5)
    #expect(pause.start(2, at: next) == nil)
    #expect((pause.start(3, at: next) ?? 0) >= next + HostPause.shortestInterval)
    #expect(!pause.isOver(at: 30.9))
    #expect(pause.isOver(at: 31))
  }

  @Test("If a probe gets no answer, the next request probes")
  func lostProbe() {
    var pause = refused(busy)
    #expect(pause.start(1, at: 2) == nil)
    pause.end(9, at: 2.1)
    #expect(pause.start(2, at: 2.1) != nil)
    pause.end(1, at: 2.2)
    #expect(pause.start(2, at: 3) == nil)
  }

  @Test("The pause grows with refusals in a row, and is at least Retry-After")
  func length() {
    var pause = refused(busy)
    var now = 1.0
    var lengths: [Double] = []
    for request in 1...5 {
      let until = pause.opening(at: now)
      lengths.append(until - now)
      #expect(pause.start(request, at: until) == nil)
      now = until + 0.5
      pause.refuse(request, busy, startedAt: until, at: now, policy, random: 1)
    }
    #expect(lengths == [0.5, 1, 2, 4, 8])
    #expect(pause.refusedSince == 1)
    let asked = refused(TransferFault(.status(429), retryAfter: 7), random: 0)
    #expect(asked.opening(at: 1) == 8)
  }

  @Test("Refusals of parallel requests count once")
  func sideBySide() {
    var pause = refused(busy)
    for request in 5..<9 {
      pause.refuse(request, busy, startedAt: 0.5, at: 1.1, policy, random: 1)
    }
    #expect(pause.refusals == 1)
    #expect(pause.opening(at: 1.1) == 1.5)
    let asked = TransferFault(.status(503), retryAfter: 3)
    pause.refuse(9, asked, startedAt: 0.5, at: 1.2, policy, random: 1)
    #expect(pause.opening(at: 1.2) == 4.2)
  }

  @Test(
    "A host that refuses gets at most ten requests per second, even if it answers some",
    arguments: [0.0, 0.5, 0.9])
  func rate(answered: Double) {
    var random = SplitMix(state: 7)
    func draw() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
    var pause = refused(busy, random: 0)
    var starts: [Double] = []
    var request = 0
    var now = 1.0
    while now < 120 {
      request += 1
      if pause.start(request, at: now) == nil {
        starts.append(now)
        if draw() < answered {
          pause.answer(request, at: now + 0.001)
        } else {
          pause.refuse(
            request, busy, startedAt: now, at: now + 0.001, policy, random: draw() * 0.1)
        }
      }
      now += 0.002
    }
    let most = starts.indices.map { first in
      starts[first...].prefix { $0 < starts[first] + 1 }.count
    }
    #expect((most.max() ?? 0) <= 10)
    #expect(starts.count > 10)
  }

  @Test("A refusal that is examined does not end the pause of the host")
  func examined() throws {
    let server = try ScriptedServer { _ in .http("503 Busy") }
    let session = try HTTPSession(impatientConfiguration())
    var request = TransferRequest(try WebURL(server.url()), limit: 10)
    request.attempts = 1
    #expect(code { _ = try session.send(request) } == .serverFailed)
    #expect(try session.examine(request).status == 503)
    #expect(session.host(of: request.url).pause?.refusals == 1)
  }

  @Test("A pause applies to all sessions of the process, and only one request probes", .slow)
  func shared() async throws {
    let pauses = HostPauses()
    let requestsBesideTheFirst = Mutex<[Int]>([])
    let counts = Mutex(0)
    let tickets = (0..<6).map { _ in TransferTicket() }
    let server = try ScriptedServer { request in
      counts.withLock { $0 += 1 }
      if request.number == 1 { return .http("503 Busy", ["Retry-After: 1"]) }
      if request.number == 2 {
        // Until the other requests wait, or one of them arrives.
        blockUntil { tickets.filter(\.isWaiting).count == 5 || counts.withLock { $0 } > 2 }
        requestsBesideTheFirst.withLock { $0.append(counts.withLock { $0 } - 2) }
      }
      return .http("200 OK", body: [7])
    }
    let sessions = try (0..<2).map { _ in
      try HTTPSession(impatientConfiguration(), pauses: pauses)
    }
    let url = try WebURL(server.url())
    let isRefused = try HTTPSession(impatientConfiguration(), pauses: pauses)
    var once = TransferRequest(url, limit: 10)
    once.attempts = 1
    #expect(code { _ = try isRefused.send(once) } == .serverBusy)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<6 {
        group.addTask {
          await onOwnThread {
            var request = TransferRequest(url, limit: 10)
            request.ticket = tickets[number]
            let failure = code { _ = try sessions[number % 2].send(request) }
            #expect(failure == nil)
          }
        }
      }
    }
    #expect(requestsBesideTheFirst.withLock { $0 } == [0])
    #expect(server.requests.count == 7)
  }
}

extension TransferTicket {
  fileprivate var isWaiting: Bool { if case .waiting = status { true } else { false } }
}

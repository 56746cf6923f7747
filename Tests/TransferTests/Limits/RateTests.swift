import HostedHTTPValues
import HostedConcurrency
import HostedModel
import HostedTestSupport
import Testing

@testable import HostedTransfer

@Suite("Rates, with a test clock")
struct RateTests {
  @Test("A schedule allows its rate, with bursts of a tenth of a second")
  func schedule() {
    var schedule = RateSchedule(bytesPerSecond: 1_000_000, at: 0)
    var now = 0.0
    var passed = 0
    while now < 10 {
      let wait = schedule.wait(at: now)
      if wait > 0 {
        now += wait
      } else {
        schedule.take(16_384, at: now)
        passed += 16_384
      }
    }
    #expect(abs(Double(passed) / 1e7 - 1) < 0.02)
    // An hour without bytes gives no credit for an hour.
    now += 3600
    var burst = 0
    while schedule.wait(at: now) == 0 {
      schedule.take(1000, at: now)
      burst += 1000
    }
    #expect(burst <= 101_000)
  }

  @Test("A schedule's rate can change at any time, and nil means no limit")
  func change() {
    var schedule = RateSchedule(bytesPerSecond: nil, at: 0)
    schedule.take(1e12, at: 0)
    #expect(schedule.wait(at: 0) == 0)
    schedule.setRate(1000, at: 1)
    schedule.take(10_000, at: 1)
    #expect(schedule.wait(at: 1) > 9)
    schedule.setRate(100_000, at: 1)
    #expect(schedule.wait(at: 1) < 0.2)
    schedule.setRate(nil, at: 1)
    #expect(schedule.wait(at: 1) == 0)
  }

  @Test("Limits apply per host and in total")
  func limiter() {
    var limits = TransferLimits()
    var limiter = RateLimiter(limits, at: 0)
    #expect(!limiter.isLimiting)
    limits.bytesPerSecond = 1000
    limits.bytesPerSecondPerHost = 100
    limiter.setLimits(limits, at: 0)
    #expect(limiter.isLimiting)
    #expect(limiter.wait(for: "a", at: 0) == 0)
    limiter.take(100, for: "a", at: 0)
    #expect(limiter.wait(for: "a", at: 0) > 0.5)
    limiter.take(1000, for: "b", at: 0)
    #expect(limiter.wait(for: "c", at: 0) > 0.5)
  }

  @Test("Bytes that a handler cannot take yet do not count against the limits")
  func untaken() throws {
    var configuration = HTTPConfiguration()
    configuration.limits.bytesPerSecond = 1000
    let clock = EngineClock(now: EngineClock.system.now, uptime: { 100 })
    let loop = TransferLoop(configuration, clock: clock, pauses: HostPauses(), random: { 0 })
    let exchange = Exchange(
      1, ExchangeRequest(url: try WebURL("http://store.example/")), ticket: TransferTicket(),
      handler: BusyHandler(), on: loop)
    exchange.endPause()
    [UInt8](repeating: 0, count: 500).withUnsafeBytes { _ = exchange.receiveBody($0) }
    #expect(exchange.isPaused && exchange.limitedUntil == nil)
    #expect(loop.mayTake(0, of: exchange) == nil)
  }

  /// A handler that never has room.
  private final class BusyHandler: ExchangeHandler {
    func receive(_ head: HTTPHead) -> TransferFault? { nil }
    func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer { .wait }
    func end(_ end: ExchangeEnd) {}
  }

  @Test("A transfer has stalled if too few bytes arrive within the window")
  func stall() {
    var guardian = StallGuard(window: 15, minimumBytes: 1500, at: 0)
    let looks: [(bytes: Int64, now: Double, verdict: StallGuard.Verdict)] = [
      (0, 14.9, .moving), (2000, 15, .moving), (3499, 29.9, .moving), (3500, 30, .moving),
      (4999, 45, .stalled),
    ]
    for look in looks {
      #expect(guardian.judge(bytes: look.bytes, at: look.now) == look.verdict)
    }
    guardian.restart(bytes: 4999, at: 100)
    #expect(guardian.judge(bytes: 4999, at: 114) == .moving)
    #expect(guardian.judge(bytes: 4999, at: 115) == .stalled)
  }

  @Test("An answer is idle after each timeout until it continues or fails")
  func idle() {
    var guardian = StallGuard(window: 15, minimumBytes: 1, idleTimeout: 4, at: 0)
    #expect(guardian.note(bytes: 100, at: 3) == 3)
    #expect(guardian.deadline == 7)
    #expect(guardian.judge(bytes: 100, at: 6.9) == .moving)
    #expect(guardian.judge(bytes: 100, at: 7) == .idle && guardian.isIdle)
    #expect(guardian.judge(bytes: 100, at: 11) == .idle)
    #expect(guardian.note(bytes: 100, at: 12) == nil && guardian.isIdle)
    #expect(guardian.note(bytes: 101, at: 13) == 10 && !guardian.isIdle)
    #expect(guardian.judge(bytes: 101, at: 28) == .stalled)
  }

  @Test("A slow connection with progress is never idle: 20 kB/s with gaps of three seconds")
  func slowLine() {
    let configuration = HTTPConfiguration()
    var timeout = IdleTimeout(configuration.idleTimeout, maximum: configuration.stallTimeout)
    var guardian = StallGuard(window: 15, minimumBytes: 1500, idleTimeout: timeout.seconds, at: 0)
    var bytes: Int64 = 0
    var now = 0.0
    for _ in 0..<200 {
      // Bytes that were delayed in the gap arrive at once.
      bytes += 60_000
      now += 3
      #expect(guardian.judge(bytes: bytes - 60_000, at: now - 0.01) == .moving)
      if let silence = guardian.note(bytes: bytes, at: now) { timeout.resume(after: silence) }
    }
    timeout.stall(rate: Double(bytes) / now)
    #expect(timeout.seconds >= configuration.idleTimeout)
  }

  @Test("The idle timeout adapts to a host: gaps, stalls and complete answers")
  func idleTimeout() {
    var timeout = IdleTimeout(4, maximum: 15)
    var seen: [Double] = []
    for _ in 0..<3 {
      timeout.stall(rate: 1e6)
      seen.append(timeout.seconds)
    }
    #expect(seen == [2, 1, 1])
    timeout.complete()
    timeout.complete()
    timeout.complete()
    #expect(timeout.seconds == 4)
    timeout.resume(after: 5)
    #expect(timeout.seconds == 10)
    timeout.resume(after: 12)
    #expect(timeout.seconds == 15)
    for _ in 0..<20 { timeout.complete() }
    #expect(timeout.seconds == 4)
    #expect(IdleTimeout(4, maximum: 0.3).seconds == 0.3)
  }
}

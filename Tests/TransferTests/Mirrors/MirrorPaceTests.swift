import Testing

@testable import HostedTransfer

@Suite("Leaving a slow mirror")
struct MirrorPaceTests {
  /// Measures `rate` in bytes per second at `mirror`, from `start` on.
  private func measure(
    _ pace: inout MirrorPace, _ mirror: Int, rate: Int64, from start: Double
  ) -> Double {
    _ = pace.count(0, from: mirror, at: start)
    let end = start + MirrorPace.window
    #expect(pace.count(rate * 3, from: mirror, at: end) == Double(rate))
    return end
  }

  @Test("A mirror without a known rate is only tried if the rest takes long")
  func unknown() {
    var pace = MirrorPace(rates: [nil, nil])
    let now = measure(&pace, 0, rate: 100, from: 5)
    #expect(pace.leave(0, for: [1], bytesLeft: 1000, at: now) == nil)
    #expect(pace.leave(0, for: [], bytesLeft: 2000, at: now) == nil)
    #expect(pace.leave(0, for: [1], bytesLeft: 2000, at: now) == 1)
    #expect(pace.isSlow(0) && !pace.isSlow(1))
  }

  @Test("The first mirror is used again if the other one is slower")
  func wayBack() {
    var pace = MirrorPace(rates: [nil, nil])
    let now = measure(&pace, 0, rate: 100, from: 0)
    #expect(pace.leave(0, for: [1], bytesLeft: 9000, at: now) == 1)
    // Measured from the choice on, so that a mirror that hardly sends anything is known with its
    // first bytes.
    #expect(pace.count(30, from: 1, at: now + 3) == 10)
    #expect(pace.leave(1, for: [0], bytesLeft: 8000, at: now + 3) == 0)
    #expect(!pace.isSlow(0) && pace.isSlow(1))
    let later = measure(&pace, 0, rate: 90, from: now + 3)
    #expect(pace.leave(0, for: [1], bytesLeft: 8000, at: later) == nil)
  }

  @Test("A mirror must be much faster, and the fastest is chosen")
  func known() {
    var pace = MirrorPace(rates: [nil, 150, 250, 900])
    let now = measure(&pace, 0, rate: 100, from: 0)
    #expect(pace.leave(0, for: [1], bytesLeft: 9000, at: now) == nil)
    #expect(pace.leave(0, for: [1, 2, 3], bytesLeft: 9000, at: now) == 3)
  }

  @Test("A mirror that is too fast for a complete measurement is measured at the end")
  func fast() {
    var pace = MirrorPace(rates: [nil, nil])
    #expect(pace.count(70, from: 0, at: 0) == nil)
    #expect(pace.lastRates(at: 1).isEmpty)
    let now = measure(&pace, 0, rate: 100, from: 0)
    #expect(pace.leave(0, for: [1], bytesLeft: 9000, at: now) == 1)
    #expect(pace.count(9000, from: 1, at: now + 0.5) == nil)
    #expect(pace.lastRates(at: now + 0.5).map(\.mirror) == [1])
    #expect(pace.lastRates(at: now + 0.5).map(\.rate) == [18_000])
  }

  @Test("Rates of other transfers apply from the start, for a limited time")
  func shared() {
    let rates = HostRates()
    rates.note(100, of: "a", at: 0)
    rates.note(1000, of: "b", at: 10)
    #expect(rates.rates(of: ["a", "b", "c"], at: 20) == [100, 1000, nil])
    #expect(rates.rates(of: ["a", "b"], at: 305) == [nil, 1000])
    let pace = MirrorPace(rates: [100, 1000, nil])
    #expect(pace.isSlow(0) && !pace.isSlow(1) && !pace.isSlow(2))
  }
}

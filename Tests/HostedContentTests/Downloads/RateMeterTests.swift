import Testing

@testable import HostedContent

@Suite("The rate of a download, with a test clock")
struct RateMeterTests {
  /// Feeds a meter with `rate` bytes per second in bursts for `seconds`, and returns the total.
  private func feed(
    _ meter: inout RateMeter, _ rate: Double, lump: Double, from start: Double, for seconds: Double,
    total: Double
  ) -> Double {
    var bytes = total
    var time = lump / rate
    while time <= seconds {
      bytes += lump
      meter.advance(to: Int64(bytes), at: start + time)
      time += lump / rate
    }
    return bytes
  }

  @Test(
    "The rate is exact to 15% after three seconds, and five seconds after it halves",
    arguments: [1e5, 1e6, 2e7, 1e9], [1.0 / 100, 1.0 / 7, 1.0 / 3])
  func halving(rate: Double, lumpSeconds: Double) throws {
    let lump = rate * lumpSeconds
    var meter = RateMeter(at: 100)
    var total = feed(&meter, rate, lump: lump, from: 100, for: 3, total: 0)
    let first = try #require(meter.rate(at: 103))
    #expect(abs(rate / first - 1) < 0.15)
    total = feed(&meter, rate / 2, lump: lump, from: 103, for: 5, total: total)
    let second = try #require(meter.rate(at: 108))
    #expect(abs(rate / 2 / second - 1) < 0.15)
  }

  @Test("The rate is unknown at first")
  func unknown() {
    var meter = RateMeter(at: 0)
    #expect(meter.rate(at: 0) == nil)
    #expect(meter.rate(at: 10) == nil)
    meter.advance(to: 50, at: 0.1)
    #expect(meter.rate(at: 0.1) == nil)
  }

  @Test("The rate is unknown again after bytes stop")
  func silence() throws {
    var meter = RateMeter(at: 0)
    _ = feed(&meter, 1000, lump: 100, from: 0, for: 4, total: 0)
    let before = try #require(meter.rate(at: 4))
    #expect(try #require(meter.rate(at: 6)) < before)
    #expect(meter.rate(at: 6000) == nil)
  }
}

import Concurrency
import TestSupport
import TestTraits
import Testing

@Suite("Tickers", .timeLimit(.hang))
struct TickerTests {
  @Test("A ticker calls its body again and again until it is stopped, which can be repeated")
  func calls() async throws {
    let calls = Watched(0)
    let ticker = try Ticker(every: .milliseconds(1)) { calls.change { $0 += 1 } }
    await calls.wait { $0 >= 3 }
    ticker.stop()
    let count = calls.value
    ticker.stop()
    try await Task.sleep(for: .milliseconds(20))
    #expect(calls.value == count)
  }
}

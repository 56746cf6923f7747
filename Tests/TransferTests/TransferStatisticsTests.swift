import Testing

@testable import HostedTransfer

@Suite struct TransferStatisticsTests {
  @Test func `the rate is known while requests are running`() throws {
    let counters = TransferCounters()
    let end = ExchangeEnd(url: try WebURL("http://a.example/"), startedAt: 10)
    #expect(counters.statistics.rate == nil)
    counters.started(at: 10)
    counters.started(at: 11)
    counters.fetched(300, from: "a", at: 12)
    #expect(counters.statistics.rate == 150)
    counters.ended(end, at: 13)
    // The time of another thread may be earlier.
    counters.fetched(100, from: "a", at: 12.5)
    counters.ended(end, at: 14)
    counters.started(at: 20)
    counters.ended(end, at: 21)
    #expect(counters.statistics.activeTime == .seconds(5))
    #expect(counters.statistics.rate == 80)
    #expect(counters.statistics.requests == 3)
  }
}

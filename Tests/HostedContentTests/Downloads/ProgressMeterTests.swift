import Testing

@testable import HostedContent

/// Each test simulates a download in steps of a tenth of a second.
@Suite("Progress and time remaining")
struct ProgressMeterTests {
  private static let step = 0.1
  private static let megabyte = 1_000_000.0

  /// Simulates a download: bytes arrive at `rate` and are verified in pieces of `pieceLength`.
  private struct Play {
    let total: Int64
    var pieceLength: Int64 = 1 << 20
    var received = 0.0
    var written = 0.0
    var instant = 0.0

    var work: DownloadJob.Work {
      var work = DownloadJob.Work(toFetch: total, toWrite: 0)
      work.received = min(total, Int64(received))
      let isWhole = work.received == total
      work.fetched = isWhole ? total : work.received / pieceLength * pieceLength
      return work
    }

    mutating func advance(at rate: Double) {
      instant += ProgressMeterTests.step
      received += rate * ProgressMeterTests.step
    }
  }

  /// Returns the largest relative error of the remaining time.
  private static func error(_ shown: Double, _ truth: Double) -> Double {
    abs(shown - truth) / truth
  }

  @Test(
    "The time is within 15 % after 3 s of a steady rate, and 5 s after the rate halves",
    arguments: [0.3, 2, 40, 800], [Int64(64 << 10), 1 << 20, 4 << 20])
  func accuracy(megabytesASecond: Double, pieceLength: Int64) {
    let rate = megabytesASecond * Self.megabyte
    var play = Play(total: Int64(rate * 60), pieceLength: pieceLength)
    var meter = ProgressMeter()
    var worst = (steady: 0.0, halved: 0.0)
    while play.instant < 20 {
      play.advance(at: rate)
      let shown = meter.advance(to: play.work, at: play.instant).timeRemaining ?? -1
      let truth = 60 - play.instant
      if play.instant >= 3 { worst.steady = max(worst.steady, Self.error(shown, truth)) }
    }
    let halvedAt = play.instant
    while play.work.fetched < play.total {
      play.advance(at: rate / 2)
      let progress = meter.advance(to: play.work, at: play.instant)
      let truth = (Double(play.total) - play.received) / (rate / 2)
      // At the end, single pieces matter too much.
      guard play.instant >= halvedAt + 5, truth > 1 else { continue }
      worst.halved = max(worst.halved, Self.error(progress.timeRemaining ?? -1, truth))
    }
    #expect(worst.steady <= 0.15)
    #expect(worst.halved <= 0.15)
  }

  @Test("The time is unknown without a rate, grows while nothing arrives, and is 0 at the end")
  func unknown() {
    var play = Play(total: 30_000_000)
    var meter = ProgressMeter()
    play.advance(at: Self.megabyte)
    #expect(meter.advance(to: play.work, at: play.instant).timeRemaining == nil)
    for _ in 0..<20 {
      play.advance(at: Self.megabyte)
      _ = meter.advance(to: play.work, at: play.instant)
    }
    let steady = meter.advance(to: play.work, at: play.instant).timeRemaining ?? -1
    #expect(Self.error(steady, 30 - play.instant) <= 0.15)
    for _ in 0..<50 {
      play.advance(at: 0)
      _ = meter.advance(to: play.work, at: play.instant)
    }
    let longer = meter.advance(to: play.work, at: play.instant).timeRemaining ?? -1
    #expect(longer > 2 * steady)
    play.received = Double(play.total)
    let end = meter.advance(to: play.work, at: play.instant + 1)
    #expect(end.timeRemaining == 0)
    #expect(end.fraction == 1)
  }

  @Test("Writing after a slow download is estimated at its own rate")
  func twoRates() {
    // 10 MB at 1 MB/s, then 400 MB that a disk writes in 2 s.
    var work = DownloadJob.Work(toFetch: 10_000_000, toWrite: 400_000_000)
    var meter = ProgressMeter()
    var shown = 0.0
    for tenth in 1...50 {
      work.received = Int64(tenth) * 100_000
      work.fetched = work.received
      shown = meter.advance(to: work, at: Double(tenth) * Self.step).timeRemaining ?? -1
    }
    #expect(Self.error(shown, 5 + 2) <= 0.15)
    work.fetched = work.toFetch
    work.received = work.toFetch
    for tenth in 51...100 { _ = meter.advance(to: work, at: Double(tenth) * Self.step) }
    for tenth in 101...110 {
      work.written = Int64(tenth - 100) * 20_000_000
      shown = meter.advance(to: work, at: Double(tenth) * Self.step).timeRemaining ?? -1
    }
    #expect(Self.error(shown, 1) <= 0.15)
  }

  @Test("If fetching and writing run together, the slower one counts")
  func together() {
    var work = DownloadJob.Work(toFetch: 100_000_000, toWrite: 200_000_000)
    var meter = ProgressMeter()
    var shown = 0.0
    for tenth in 1...50 {
      work.received = Int64(tenth) * 1_000_000
      work.fetched = work.received
      work.written = Int64(tenth) * 2_000_000
      shown = meter.advance(to: work, at: Double(tenth) * Self.step).timeRemaining ?? -1
    }
    #expect(Self.error(shown, 5) <= 0.15)
  }

  @Test("The fraction never decreases")
  func monotonic() {
    var work = DownloadJob.Work(toFetch: 100, toWrite: 100)
    var meter = ProgressMeter()
    var last = 0.0
    for (number, fetched) in [10, 30, 20, 50, 5, 120, 100].enumerated() {
      work.fetched = Int64(fetched)
      let fraction = meter.advance(to: work, at: Double(number)).fraction
      #expect(fraction >= last)
      #expect(fraction <= 1)
      last = fraction
    }
  }
}

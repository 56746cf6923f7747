import ContentModel
import FileIO
import Foundation
import HostedContent
import Locks
import TestSupport
import Testing

/// What observers hear of a download's progress.
@Suite("Progress", .timeLimit(.minutes(10)))
struct ProgressTests {
  /// Bytes that no compression makes shorter, so that a package of them has many blocks.
  private static func noise(_ count: Int) -> [String: [UInt8]] {
    var random = SplitMix(state: 7)
    return ["Contents/noise.bin": random.bytes(count)]
  }

  @Test("Within an attempt progress never goes back, also after one that failed")
  func secondAttempt() async throws {
    let fixture = try StoreFixture()
    try fixture.publish("a", "1.0", files: Self.noise(4 << 20))
    let writes = Mutex(0)
    let disk = FileSystem { operation, path in
      guard operation == .write, path.hasSuffix("/noise.bin") else { return }
      let count = writes.withLock { count in
        count += 1
        return count
      }
      if count == 9 { throw FaultPlan.diskFull }
    }
    let queue = try fixture.queue { $0.fileSystem = disk }
    let reports = Mutex([(DownloadState, Double)]())
    let observer = RecordingObserver(
      onTransactions: { $0.start($1.flatMap(\.downloads)) },
      onDownloads: { queue, downloads in
        for download in downloads {
          reports.withLock { $0.append((download.state, download.progress)) }
          if download.state == .failed { queue.start([download]) }
        }
      })
    queue.add(observer)
    queue.add(Payment(productIdentifier: try ProductIdentifier("a")))
    await observer.wait { $0.download(of: "a")?.state == .finished }
    let all = reports.withLock { $0 }
    let failure = try #require(all.firstIndex { $0.0 == .failed })
    // The last progress may be told with the failure.
    #expect(all[...failure].contains { $0.1 > 0 })
    let second = all[failure...].filter { $0.0 == .active || $0.0 == .finished }.map(\.1)
    #expect(second == second.sorted())
    #expect(second.last == 1)
  }

  @Test("An observer that is slow hears the newest progress, not all that it has missed")
  func slowObserver() async throws {
    let fixture = try StoreFixture()
    try fixture.publish("a", "1.0", files: Self.noise(8 << 20))
    let isInstalled = Mutex(false)
    let disk = FileSystem { operation, path in
      if operation == .write, path.hasSuffix("/noise.bin") { usleep(15_000) }
      if operation == .rename, path.hasSuffix("/products/a/1.0") {
        isInstalled.withLock { $0 = true }
      }
    }
    let queue = try fixture.queue { $0.fileSystem = disk }
    let progress = Mutex([Double]())
    let observer = RecordingObserver(
      onTransactions: { $0.start($1.flatMap(\.downloads)) },
      onDownloads: { _, downloads in
        for download in downloads where download.state == .active {
          progress.withLock { $0.append(download.progress) }
          // Blocks from the first report until the work is done.
          while !isInstalled.withLock({ $0 }) { usleep(5_000) }
        }
      })
    queue.add(observer)
    queue.add(Payment(productIdentifier: try ProductIdentifier("a")))
    await observer.wait { $0.download(of: "a")?.state == .finished }
    #expect(progress.withLock { $0.count } <= 3)
    #expect(progress.withLock { $0 } == progress.withLock { $0.sorted() })
  }

  @Test("Downloads that end do not make others report more often than the ticker does")
  func rate() async throws {
    let fixture = try StoreFixture()
    try fixture.publish("big", "1.0", files: Self.noise(6 << 20))
    let small = (1...12).map { "small\($0)" }
    for name in small { try fixture.publish(name, "1.0", files: ["Contents/x": [1]]) }
    let disk = FileSystem { operation, path in
      // The noise is unpacked in many small pieces, slowly.
      if operation == .write, path.hasSuffix("/noise.bin") { usleep(4_000) }
    }
    let queue = try fixture.queue { $0.fileSystem = disk }
    let reports = Mutex([ContinuousClock.Instant]())
    let observer = RecordingObserver(
      onTransactions: { $0.start($1.flatMap(\.downloads)) },
      onDownloads: { _, downloads in
        let moved = downloads.contains {
          $0.contentIdentifier.rawValue == "big" && $0.state == .active && $0.progress > 0
        }
        if moved { reports.withLock { $0.append(.now) } }
      })
    queue.add(observer)
    for name in ["big"] + small {
      queue.add(Payment(productIdentifier: try ProductIdentifier(name)))
    }
    await observer.wait { log in
      log.downloads.count == 13 && log.downloads.values.allSatisfy { $0.state == .finished }
    }
    let times = reports.withLock { $0 }
    let (first, last) = (try #require(times.first), try #require(times.last))
    let ticks = (last - first) / .milliseconds(100)
    #expect(Double(times.count) <= ticks * 1.3 + 4, "\(times.count) reports in \(ticks) ticks")
  }
}

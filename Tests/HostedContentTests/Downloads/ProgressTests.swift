import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Reports of a download's progress.
@Suite("Progress", .timeLimit(.hang))
struct ProgressTests {
  /// Returns incompressible bytes, so that their package has many blocks.
  private static func noise(_ count: Int) -> [String: [UInt8]] {
    var random = SplitMix(state: 7)
    return ["Contents/noise.bin": random.bytes(count)]
  }

  /// A file system that calls `body` with the number of each write of the noise, from 1.
  private static func disk(_ body: @escaping @Sendable (Int) throws -> Void) -> FileSystem {
    let writes = Atomic(0)
    return FileSystem { operation, path in
      guard operation == .write, path.hasSuffix("/noise.bin") else { return }
      try body(writes.add(1, ordering: .relaxed).newValue)
    }
  }

  @Test("Within an attempt, progress never decreases, even after a failed attempt")
  func secondAttempt() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0", files: Self.noise(4 << 20))
    let disk = Self.disk { if $0 == 9 { throw FaultPlan.diskFull } }
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
    queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.download(of: "a")?.state == .finished }
    let all = reports.withLock { $0 }
    let failure = try #require(all.firstIndex { $0.0 == .failed })
    // The last progress may be reported with the failure.
    #expect(all[...failure].contains { $0.1 > 0 })
    let second = all[failure...].filter { $0.0 == .active || $0.0 == .finished }.map(\.1)
    #expect(second == second.sorted())
    #expect(second.last == 1)
  }

  @Test("A slow observer gets the newest progress, not every missed value", .slow)
  func slowObserver() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0", files: Self.noise(8 << 20))
    let isObserved = Gate()
    let isInstalled = Gate()
    let execution = TickerExecution(.continuous)
    let disk = FileSystem { operation, path in
      if operation == .write, path.hasSuffix("/noise.bin") {
        isObserved.wait()
        execution.waitForTick()
      }
      if operation == .rename, path.hasSuffix("/products/a/1.0") { isInstalled.open() }
    }
    let queue = try fixture.queue {
      $0.fileSystem = disk
      $0.environment.execution = execution
    }
    let progress = Mutex([Double]())
    let observer = RecordingObserver(
      onTransactions: { $0.start($1.flatMap(\.downloads)) },
      onDownloads: { _, downloads in
        for download in downloads where download.state == .active {
          progress.withLock { $0.append(download.progress) }
          // Blocks from the first report until the work is done.
          isObserved.open()
          isInstalled.wait()
        }
      })
    queue.add(observer)
    queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.download(of: "a")?.state == .finished }
    // One before the observer blocks, one after it, and those of the few steps that are left; not
    // one for each of more than a hundred writes.
    #expect((1...10).contains(progress.withLock { $0.count }))
    #expect(progress.withLock { $0 } == progress.withLock { $0.sorted() })
  }

  @Test("The end of a download does not report the progress of others", .slow)
  func endsOfOthers() async throws {
    let fixture = try StoreFixture(publishing: "big", "1.0", files: Self.noise(6 << 20))
    let small = (1...12).map { "small\($0)" }
    for name in small { try fixture.publish(name, "1.0", files: ["Contents/x": [1]]) }
    let gate = Gate()
    let disk = Self.disk { if $0 == 10 { gate.wait() } }
    let queue = try fixture.queue {
      $0.fileSystem = disk
      $0.environment.execution = TickerExecution(.none)
    }
    let moves = Mutex(0)
    let observer = RecordingObserver(
      onTransactions: { $0.start($1.flatMap(\.downloads)) },
      onDownloads: { _, downloads in
        let hasMoved = downloads.contains {
          $0.contentIdentifier.rawValue == "big" && $0.state == .active && $0.progress > 0
        }
        if hasMoved { moves.withLock { $0 += 1 } }
      })
    queue.add(observer)
    queue.add(Payment(productIdentifier: "big"))
    await gate.waitUntilReached()
    for name in small {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: name)))
    }
    await observer.wait { log in
      small.allSatisfy { log.download(of: $0)?.state == .finished }
    }
    #expect(moves.withLock { $0 } == 0)
    gate.open()
    await observer.wait { $0.download(of: "big")?.state == .finished }
  }
}

import ContentModel
import FileIO
import Foundation
import HostedContent
import Locks
import TestSupport
import Testing

/// From the n-th operation on nothing reaches the disk or the journal, as after a kill.
@Suite("A process may end at any operation", .timeLimit(.minutes(5)))
struct CrashTests {
  /// Not every n, which would take long; FaultTests has every n, for a failure that passes.
  private static let step = SlowTests.areOn ? 3 : 9

  @Test(
    "An install or an update that ends anywhere is whole after the next start",
    arguments: [false, true])
  func ended(isUpdate: Bool) async throws {
    let template = try StoreFixture()
    try template.publish("a", "1.0")
    if isUpdate { try await Self.bring(in: template, .real) }
    try template.publish("a", "1.1")
    for n in stride(from: 1, to: .max, by: Self.step) {
      let fixture = try StoreFixture(copying: template)
      let crash = Crash(after: n)
      await Self.attempt(in: fixture, crash)
      try Self.expectWhole(fixture, "operation \(n)")
      try await Self.bring(in: fixture, .real)
      try fixture.expectInstalled("a", "1.1")
      if isUpdate { try fixture.expectInstalled("a", "1.0", isCurrent: false) }
      #expect(try fixture.staged().isEmpty, "operation \(n)")
      #expect(try fixture.reader().transactions().isEmpty, "operation \(n)")
      if !crash.hasHappened { return }
    }
  }

  /// Works until the crash, and lets go of everything.
  private static func attempt(in fixture: StoreFixture, _ crash: Crash) async {
    // Errors are what a crash looks like from inside; the next start has to cope with its traces.
    try? await bring(in: fixture, crash.fileSystem) { crash.hasHappened }
  }

  private static func bring(
    in fixture: StoreFixture, _ fileSystem: FileSystem,
    until isOver: @escaping @Sendable () -> Bool = { false }
  ) async throws {
    let queue = try fixture.queue { $0.fileSystem = fileSystem }
    defer { queue.close() }
    let observer = RecordingObserver.delivering()
    queue.add(observer)
    let product = try ProductIdentifier("a")
    if queue.transactions.isEmpty {
      if let update = try await queue.updates().first {
        try await queue.add(update)
      } else if try queue.installedVersion(of: product) == nil {
        queue.add(Payment(productIdentifier: product))
      } else {
        return
      }
    }
    while observer.log.removed.isEmpty, !isOver() { try await Task.sleep(for: .milliseconds(1)) }
  }

  private static func expectWhole(_ fixture: StoreFixture, _ place: String) throws {
    let current = "\(fixture.libraryPath)/products/a/current"
    guard let version = try? FileManager.default.destinationOfSymbolicLink(atPath: current) else {
      return
    }
    for (path, bytes) in StoreFixture.files("a", version) {
      let found = try? Data(contentsOf: URL(filePath: "\(current)/\(path)"))
      #expect(found == Data(bytes), "\(place): \(version) \(path)")
    }
  }

  /// Fails every operation from the n-th on.
  private final class Crash: Sendable {
    private let left: Mutex<Int>

    init(after n: Int) { left = Mutex(n) }

    var hasHappened: Bool { left.withLock { $0 <= 0 } }

    var fileSystem: FileSystem {
      FileSystem { [self] _, path in
        let isOver = left.withLock { left in
          left -= 1
          return left <= 0
        }
        if isOver {
          throw ContentError(.fileFailed, "The process has ended at \(path)", remedy: "Start again")
        }
      }
    }
  }
}

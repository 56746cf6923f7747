import HostedCrashPoints
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// A process that closes its queue at any time and exits at once.
@Suite("A process may exit as soon as its queue is closed", .timeLimit(.hang))
struct ExitTests {
  private final class Failures: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }
    func add(_ text: String) { texts.withLock { $0.append(text) } }
  }

  @Test("Many such processes exit without a crash", .slow)
  func exits() async throws {
    let template = try World()
    try await CrashOperation.install.prepare(template)
    let worlds = try (0..<4).map { _ in try template.copy() }
    let runs = SlowTests.count(100, all: 1_000)
    let failures = Failures()
    await onOwnThread(givingWay: true) {
      DispatchQueue.concurrentPerform(iterations: worlds.count) { lane in
        for run in stride(from: lane, to: runs, by: worlds.count) {
          // From before the first access to the store to after the last.
          if let failure = Self.failure(in: worlds[lane], closingAfter: run * 7919 % 20_000) {
            failures.add(failure)
          }
        }
      }
    }
    print("exits: \(runs) processes")
    #expect(failures.all == [])
  }

  /// Returns why a process did not exit with 0; nil if it did.
  private static func failure(in world: World, closingAfter microseconds: Int) -> String? {
    do {
      try? FileManager.default.removeItem(atPath: world.libraryPath())
      let end = try Program.run(
        Program.path("HostedCrashDriver"), ["leave", world.path, "\(microseconds)"])
      guard end.wasKilled || end.status != 0 else { return nil }
      return "after \(microseconds) µs: \(end.wasKilled ? "signal" : "status") \(end.status)"
    } catch {
      return "\(error)"
    }
  }
}

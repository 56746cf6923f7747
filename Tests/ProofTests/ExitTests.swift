import CrashPoints
import Foundation
import TestSupport
import Testing

/// A process that closes its queue and exits at once, whatever the queue was doing.
@Suite("A process may exit as soon as its queue is closed", .timeLimit(.minutes(20)))
struct ExitTests {
  @Test("None of many such processes crashes")
  func exits() async throws {
    let world = try World()
    try await CrashOperation.install.prepare(world)
    let runs = SlowTests.areOn ? 1_000 : 50
    let failures = try await onOwnThread(givingWay: true) {
      try (0..<runs).compactMap { run -> String? in
        try? FileManager.default.removeItem(atPath: world.libraryPath())
        // From before the first look at the store to after the last one.
        let time = run * 7919 % 20_000
        let end = try Program.run(Program.path("crash-driver"), ["leave", world.path, "\(time)"])
        guard end.wasKilled || end.status != 0 else { return nil }
        return "after \(time) µs: status \(end.status), killed \(end.wasKilled): \(end.output)"
      }
    }
    #expect(failures.isEmpty, "\(failures.count) of \(runs): \(failures.prefix(3))")
  }
}

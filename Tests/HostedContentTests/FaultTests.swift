import ContentModel
import FileIO
import Foundation
import HostedContent
import TestSupport
import Testing

/// The n-th operation on the file system or the journal fails, for every n until none fires.
@Suite("Every operation of an install or an update may fail", .timeLimit(.minutes(10)))
struct FaultTests {
  @Test("An install that fails at any operation leaves nothing half, and succeeds once it may")
  func install() async throws {
    let published = try StoreFixture()
    try published.publish("a", "1.0")
    try await eachFault {
      try StoreFixture(copying: published)
    } check: { fixture in
      try fixture.expectInstalled("a", "1.0")
    }
  }

  @Test("An update that fails at any operation leaves the old version whole and current")
  func update() async throws {
    let old = try StoreFixture()
    try old.publish("a", "1.0")
    let new = try StoreFixture(copying: old)
    try new.publish("a", "1.1")
    try await eachFault {
      let fixture = try StoreFixture(copying: old)
      try await Self.bring("a", in: fixture, .real)
      try fixture.takeStore(of: new)
      return fixture
    } check: { fixture in
      try fixture.expectInstalled("a", "1.1")
      try fixture.expectInstalled("a", "1.0", isCurrent: false)
    }
  }

  private func eachFault(
    _ prepare: () async throws -> StoreFixture, check: (StoreFixture) throws -> Void
  ) async throws {
    let errors: [ContentError.Code] = [.diskFull, .fileFailed, .tooManyFiles]
    // All of them where there is time; else every fifth, which still meets every kind.
    for n in stride(from: 1, to: .max, by: SlowTests.areOn ? 1 : 5) {
      let fixture = try await prepare()
      let error = ContentError(errors[n % 3], "Operation \(n) failed", remedy: "Try again")
      let plan = FaultPlan(failing: n, with: error)
      do {
        try await Self.bring("a", in: fixture, plan.fileSystem)
      } catch let error as ContentError {
        #expect(error.code != .inconsistent, "operation \(n): \(error)")
      }
      try Self.expectWhole(fixture, n)
      try await Self.bring("a", in: fixture, .real)
      try check(fixture)
      #expect(try fixture.staged().isEmpty, "operation \(n)")
      #expect(try fixture.reader().transactions().isEmpty, "operation \(n)")
      if !plan.hasFired { return }
    }
  }

  /// What `current` names must be whole, whatever failed.
  private static func expectWhole(_ fixture: StoreFixture, _ n: Int) throws {
    let current = "\(fixture.libraryPath)/products/a/current"
    guard let version = try? FileManager.default.destinationOfSymbolicLink(atPath: current) else {
      return
    }
    for (path, bytes) in StoreFixture.files("a", version) {
      let found = try? Data(contentsOf: URL(filePath: "\(current)/\(path)"))
      #expect(found == Data(bytes), "operation \(n): \(version) \(path)")
    }
  }

  /// Brings `product` to the offered version as a service would, in a queue of its own.
  private static func bring(
    _ product: String, in fixture: StoreFixture, _ fileSystem: FileSystem
  ) async throws {
    let queue = try fixture.queue { $0.fileSystem = fileSystem }
    defer { queue.close() }
    let identifier = try ProductIdentifier(product)
    let observer = RecordingObserver.delivering()
    if queue.transactions.isEmpty {
      queue.add(observer)
      let update = try await queue.updates().first { $0.productIdentifier == identifier }
      if let update {
        _ = try await queue.add(update)
      } else if try queue.installedVersion(of: identifier) == nil {
        queue.add(Payment(productIdentifier: identifier))
      } else {
        return
      }
    } else {
      queue.add(observer)
    }
    // An end, good or bad: removed, failed for good, or refused by the journal.
    await observer.wait { log in
      !log.removed.isEmpty || !log.errors.isEmpty
        || log.downloadStates.values.contains { $0.last == .failed }
    }
    if !observer.log.removed.isEmpty { return }
    // Failed downloads start again in the same process, with their transactions still open.
    let failed = observer.log.downloads.values.filter { $0.state == .failed }
    queue.start(failed)
    await observer.wait { log in
      !log.removed.isEmpty || !log.errors.isEmpty || failed.isEmpty
    }
  }
}

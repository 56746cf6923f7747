import HostedModel
import HostedFileIO
import Foundation
import Glibc
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Removing versions", .timeLimit(.hang))
struct RemovalTests {
  private let fixture: StoreFixture
  private let a = ProductIdentifier("a")

  init() throws { fixture = try StoreFixture() }

  /// Installs versions 1.0, 1.1, … of product `a`.
  private func install(_ count: Int) async throws {
    let queue = try fixture.queue()
    defer { queue.close() }
    for number in 0..<count {
      try fixture.publish("a", "1.\(number)")
      if let update = try await queue.availableUpdates().first {
        _ = try await queue.deliver(update)
      } else {
        _ = try await queue.deliver(Payment(productIdentifier: a))
      }
    }
  }

  /// The versions with a folder, and the current one.
  private struct Folders: Equatable, CustomStringConvertible {
    var versions: [String]
    var current: String?

    init(_ versions: [String], current: String?) {
      self.versions = versions
      self.current = current
    }

    init(_ fixture: StoreFixture) throws {
      let home = "\(fixture.libraryPath)/products/a"
      let names = try FileManager.default.contentsOfDirectory(atPath: home).sorted()
      versions = names.filter { !$0.contains("current") }
      current = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(home)/current")
    }

    var description: String { "\(versions), current \(current ?? "none")" }
  }

  /// Makes step number `n` of a removal fail.
  private final class FailingStep: Sendable {
    private let left = Mutex<Int?>(nil)
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Starts counting; returns the hook that makes the step fail.
    func arm(_ n: Int) { left.withLock { $0 = n } }

    /// Stops counting; returns whether the step was reached.
    func disarm() -> Bool {
      left.withLock { left in
        defer { left = nil }
        return (left ?? 1) <= 0
      }
    }

    var fileSystem: FileSystem {
      FileSystem { [self] _, _ in
        let fails = left.withLock { left in
          left = left.map { $0 - 1 }
          return left == 0
        }
        if fails { throw SystemFailure(number) }
      }
    }
  }

  @Test(
    "A removal that fails at any step changes nothing, or is completed", .slow,
    arguments: [EIO, ENOSPC, EMFILE], [1, 2])
  func failingSteps(number: Int32, count: Int) async throws {
    try await install(count)
    let newest = try ContentVersion(validating: "1.\(count - 1)")
    let before = try Folders(fixture)
    let after = Folders(
      Array(before.versions.dropLast()), current: before.versions.dropLast().last)
    var failed = (kept: 0, removed: 0)
    for n in 1..<200 {
      let copy = try StoreFixture(copying: fixture)
      let step = FailingStep(number)
      let queue = try copy.queue { $0.fileSystem = step.fileSystem }
      step.arm(n)
      let result = Result { try queue.remove(a, version: newest) }
      let wasReached = step.disarm()
      let found = try Folders(copy)
      switch result {
      case .success: #expect(found == after, "step \(n)")
      case .failure:
        #expect(found == before || found == after, "step \(n)")
        if found == after { failed.removed += 1 } else { failed.kept += 1 }
        // A temporary failure can be retried.
        if found == before { try await queue.remove(a, version: newest) }
      }
      queue.close()
      try copy.queue().close()
      #expect(try Folders(copy) == after, "step \(n)")
      let listed = try copy.reader().contents().map(\.content.version.rawValue)
      #expect(listed == after.versions, "step \(n)")
      #expect(try copy.staged().isEmpty, "step \(n)")
      guard wasReached else { break }
    }
    #expect(failed.kept > 5)
    #expect(failed.removed > 5)
  }

  // MARK: Full disk

  @Test func `the journal's reserve is restored after a removal has released it`() async throws {
    try await install(1)
    let isFull = Atomic(false)
    let wasReleased = Atomic(false)
    let queue = try fixture.queue {
      $0.fileSystem = FileSystem { operation, path in
        if operation == .remove, path.hasSuffix("/journal.reserve") {
          wasReleased.store(true, ordering: .relaxed)
          isFull.store(false, ordering: .relaxed)
        }
        guard operation == .rename, path.contains("/staging/removed-"),
          isFull.load(ordering: .relaxed)
        else { return }
        throw SystemFailure(ENOSPC)
      }
    }
    isFull.store(true, ordering: .relaxed)
    try await queue.remove(a, version: ContentVersion("1.0"))
    #expect(wasReleased.load(ordering: .relaxed) == true)
    let library = try FileSystem.real.directory(at: fixture.libraryPath)
    #expect(try library.status(of: "journal.reserve")?.size == SpaceReserve.size)
    queue.close()
  }

  @Test func `a removal that cannot be journaled is reported, and the next start completes it`()
    async throws
  {
    try await install(1)
    let isFull = Atomic(false)
    let queue = try fixture.queue {
      $0.fileSystem = FileSystem { operation, _ in
        if operation == .journal, isFull.load(ordering: .relaxed) { throw SystemFailure(ENOSPC) }
      }
    }
    isFull.store(true, ordering: .relaxed)
    let result = Result { try queue.remove(a, version: ContentVersion("1.0")) }
    let error = #expect(throws: ContentError.self) { try result.get() }
    #expect(error?.code == .diskFull)
    #expect(try fixture.staged().isEmpty)
    queue.close()
    try fixture.queue().close()
    #expect(try fixture.reader().contents().isEmpty)
  }

  // MARK: Slow deletion

  /// A file system that blocks the first thread that deletes a version or staged files.
  private func holdingDeletion(_ gate: Gate) -> FileSystem {
    gate.fileSystem { operation, path in
      operation == .remove && path.contains("/staging/") && !path.contains("CACHEDIR.TAG")
    }
  }

  /// Begins to remove version 1.0; returns when the gate holds its deletion.
  private func beginRemoval(
    in queue: PaymentQueue, until gate: Gate
  ) async -> Task<Void, any Error> {
    let removal = Task {
      try await onOwnThread { [a] in try queue.remove(a, version: ContentVersion("1.0")) }
    }
    await gate.waitUntilReached()
    return removal
  }

  @Test("The queue continues while a removed version is deleted")
  func removeBesideEvents() async throws {
    try await install(2)
    let gate = Gate()
    let queue = try fixture.queue { $0.fileSystem = holdingDeletion(gate) }
    let removal = await beginRemoval(in: queue, until: gate)
    try await onOwnThread { [a] in try queue.setPin(true, on: a, version: ContentVersion("1.1")) }
    try fixture.publish("b", "1.0")
    _ = try await queue.deliver(Payment(productIdentifier: "b"))
    #expect(!gate.hasGivenUp)
    gate.open()
    try await removal.value
    #expect(try fixture.staged().isEmpty)
    queue.close()
    #expect(try Folders(fixture) == Folders(["1.1"], current: "1.1"))
  }

  @Test("The queue continues while collected versions are deleted")
  func collectBesideEvents() async throws {
    try await install(3)
    let gate = Gate()
    let queue = try fixture.queue { $0.fileSystem = holdingDeletion(gate) }
    let collection = Task { try await onOwnThread { try queue.collect() } }
    await gate.waitUntilReached()
    try await onOwnThread { [a] in try queue.setPin(true, on: a, version: ContentVersion("1.2")) }
    #expect(!gate.hasGivenUp)
    gate.open()
    #expect(try await collection.value.removed.map(\.version.rawValue) == ["1.0", "1.1"])
    #expect(try fixture.staged().isEmpty)
  }

  @Test("A cancelled download can restart while its old files are deleted")
  func cancelBesideEvents() async throws {
    try fixture.publish("a", "1.0")
    let gate = Gate()
    let deletion = holdingDeletion(gate)
    let hasFailed = Atomic(false)
    let queue = try fixture.queue {
      $0.fileSystem = FileSystem { operation, path in
        if operation == .write, path.hasSuffix("data.bin"),
          !hasFailed.exchange(true, ordering: .relaxed)
        {
          throw SystemFailure(EIO)
        }
        try deletion.willPerform?(operation, path)
      }
    }
    let observer = RecordingObserver(of: queue)
    queue.add(Payment(productIdentifier: a))
    await observer.wait { $0.transaction(of: "a")?.transactionState == .purchased }
    let transaction = try #require(observer.log.transaction(of: "a"))
    queue.start(transaction.downloads)
    await observer.wait { $0.downloadStates.values.contains { $0.last == .failed } }
    queue.cancel(transaction.downloads)
    await gate.waitUntilReached()
    queue.start(transaction.downloads)
    await observer.wait { $0.downloadStates.values.contains { $0.last == .finished } }
    #expect(!gate.hasGivenUp)
    gate.open()
    queue.close()
    try fixture.expectInstalled("a", "1.0")
    #expect(try fixture.staged().isEmpty)
  }

  @Test("Closing a queue waits until a removed version is deleted")
  func closeWhileRemoving() async throws {
    try await install(2)
    let gate = Gate()
    let queue = try fixture.queue { $0.fileSystem = holdingDeletion(gate) }
    let removal = await beginRemoval(in: queue, until: gate)
    let closing = Task {
      await onOwnThread {
        queue.close()
        return gate.isOpen
      }
    }
    await waitUntil { !queue.canMakePayments }
    gate.open()
    #expect(await closing.value)
    #expect(try fixture.staged().isEmpty)
    try await removal.value
  }
}

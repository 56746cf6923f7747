import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Reports of a reader while a queue of another process removes versions.
@Suite("Verifying while versions are removed", .timeLimit(.hang))
struct VerifyWhileRemovingTests {
  private let installed: StoreFixture

  init() async throws {
    installed = try StoreFixture()
    let a = ProductIdentifier("a")
    let queue = try installed.queue()
    try installed.publish("a", "1.0")
    _ = try await queue.deliver(Payment(productIdentifier: a))
    try installed.publish("a", "1.1")
    for update in try await queue.availableUpdates() { _ = try await queue.deliver(update) }
    queue.close()
  }

  /// A hook that calls `body` before one step of a file system.
  private final class Interference: Sendable {
    private let state: Mutex<(stepsLeft: Int, hasCalled: Bool)>
    private let body: @Sendable () -> Void

    init(before step: Int, _ body: @escaping @Sendable () -> Void) {
      state = Mutex((step, false))
      self.body = body
    }

    var hasCalled: Bool { state.withLock { $0.hasCalled } }

    var fileSystem: FileSystem {
      FileSystem { [self] _, _ in
        let calls = state.withLock { state in
          state.stepsLeft -= 1
          if state.stepsLeft == 0 { state.hasCalled = true }
          return state.stepsLeft == 0
        }
        if calls { body() }
      }
    }
  }

  /// Calls `body` for each step that a reader takes, with both versions removed before that step.
  ///
  /// `body` gets a copy of the library, a queue on it, and its contents.
  private func removingAtEachStep(
    _ body: (LibraryReader, [InstalledContent]) throws -> Void
  ) throws {
    for step in 1... {
      let fixture = try StoreFixture(copying: installed)
      let queue = try fixture.queue()
      let contents = try fixture.reader().contents().map(\.content)
      let interference = Interference(before: step) {
        #expect(throws: Never.self) {
          for content in contents.reversed() { try queue.remove(content) }
        }
      }
      let reader = try LibraryReader(
        URL(filePath: fixture.libraryPath), fileSystem: interference.fileSystem)
      try body(reader, contents)
      queue.close()
      if !interference.hasCalled { break }
    }
  }

  /// Fails the test if `contents` are damaged; a removed version is not.
  private static func expectNoDamage(
    _ contents: [InstalledContent], _ reader: LibraryReader, _ allowed: Set<ContentError.Code>
  ) {
    for content in contents {
      do {
        let damages = try reader.verify(content)
        #expect(damages.isEmpty)
      } catch {
        let code = (error as? ContentError)?.code
        #expect(code.map(allowed.contains) == true, "\(error)")
      }
    }
  }

  @Test(
    "A version that is removed at any step of its check is not installed, and not damaged", .slow)
  func removedWhileVerified() throws {
    try removingAtEachStep { Self.expectNoDamage($1, $0, [.notInstalled]) }
  }

  @Test("No version is damaged at any step of a removal", .slow)
  func verifiedWhileRemoved() throws {
    for step in 1... {
      let fixture = try StoreFixture(copying: installed)
      let contents = try fixture.reader().contents().map(\.content)
      let reader = try fixture.reader()
      let isOpen = Mutex(false)
      let interference = Interference(before: step) {
        // The remover waits in this call and holds its lock, so the reader finds the version in
        // use.
        Self.expectNoDamage(contents, reader, [.notInstalled, .contentInUse])
      }
      let fileSystem = interference.fileSystem
      let queue = try fixture.queue {
        $0.fileSystem = FileSystem { operation, path in
          if isOpen.withLock({ $0 }) { try fileSystem.willPerform?(operation, path) }
        }
      }
      isOpen.withLock { $0 = true }
      for content in contents.reversed() { try queue.remove(content) }
      isOpen.withLock { $0 = false }
      queue.close()
      if !interference.hasCalled { break }
    }
  }

  @Test("A repair fetches nothing for a version that is removed at any step of its check", .slow)
  func removedWhileRepaired() async throws {
    for step in 1... {
      let fixture = try StoreFixture(copying: installed)
      let holder = Mutex<PaymentQueue?>(nil)
      let content = try #require(try fixture.reader().contents().first?.content)
      let interference = Interference(before: step) {
        #expect(throws: Never.self) { try holder.withLock { $0 }?.remove(content) }
      }
      let fileSystem = interference.fileSystem
      let queue = try fixture.queue {
        $0.fileSystem = FileSystem { operation, path in
          if holder.withLock({ $0 }) != nil { try fileSystem.willPerform?(operation, path) }
        }
      }
      holder.withLock { $0 = queue }
      do {
        #expect(try await queue.repair(content).damagedPaths.isEmpty)
      } catch {
        #expect((error as? ContentError)?.code == .notInstalled, "\(error)")
      }
      #expect(queue.statistics.bytesFetched == 0)
      holder.withLock { $0 = nil }
      queue.close()
      if !interference.hasCalled { break }
    }
  }

  @Test("A list made while the current version is removed has its successor as current")
  func current() throws {
    for step in 1... {
      let fixture = try StoreFixture(copying: installed)
      let queue = try fixture.queue()
      let newest = try #require(try fixture.reader().contents().last?.content)
      let interference = Interference(before: step) {
        #expect(throws: Never.self) { try queue.remove(newest) }
      }
      let reader = try LibraryReader(
        URL(filePath: fixture.libraryPath), fileSystem: interference.fileSystem)
      let entries = try reader.contents()
      #expect(entries.filter(\.isCurrent).count == 1, "step \(step): \(entries.map(\.url))")
      queue.close()
      if !interference.hasCalled { break }
    }
  }

  @Test("A folder that was removed by hand is damage")
  func missingFolder() throws {
    let fixture = try StoreFixture(copying: installed)
    let reader = try fixture.reader()
    let content = try #require(try reader.contents().first?.content)
    try FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/products/a/1.0")
    #expect(try reader.verify(content).map(\.rule) == ["missing"])
  }
}

extension PaymentQueue {
  fileprivate func remove(_ content: InstalledContent) throws {
    try remove(content.contentIdentifier, version: content.version)
  }
}

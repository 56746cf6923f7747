import HostedConcurrency
import HostedModel
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import AppUpdate

@Suite("Explicit checks")
struct CheckRequestTests {
  let folder: TemporaryFolder
  let clock = TestClock()

  init() throws { folder = try TemporaryFolder() }

  private func checker(_ source: ScriptedSource = ScriptedSource(nil)) throws -> AppUpdateChecker {
    try AppUpdateChecker(
      .init(app: app("1.0"), folder: URL(filePath: folder.path("updates"))), source: source,
      clock: clock.clock, fileSystem: .real)
  }

  @Test("A check sends a request, optionally bypassing a CDN; a foreground may use the cache")
  func requests() async throws {
    let transport = ScriptedTransport(selling: ["us": listing("2.0")])
    let lookup = AppLookup(.init(), transport: transport, clock: clock.clock)
    let source = StoreUpdateSource(lookup, key: .bundleIDs(["com.example.courier"]))
    let configuration = AppUpdateChecker.Configuration(
      app: try app("1.0"), folder: URL(filePath: folder.path("updates")))
    let checker = try AppUpdateChecker(
      configuration, source: source, clock: clock.clock, fileSystem: .real)
    _ = await checker.enterForeground()
    clock.advance(hour)
    _ = await checker.enterForeground()
    #expect(transport.requests.count == 1)
    _ = await checker.check()
    #expect(transport.requests.count == 2)
    #expect(transport.requests[1].url == transport.requests[0].url)
    _ = await checker.check(bypassesCDN: true)
    #expect(transport.requests.count == 3)
    #expect(transport.requests[2].parameters["fresh"] != nil)
    #expect(transport.requests[2].headers["Cache-Control"] == "no-cache")
  }

  @Test("Checkers that wait for a disk do not block the threads of tasks", .timeLimit(.hang))
  func slowDisk() async throws {
    let count = ProcessInfo.processInfo.activeProcessorCount + 8
    let writes = Watched(0)
    // No write ends before all have begun.
    let disk = FileSystem { operation, _ in
      guard operation == .write else { return }
      writes.change { $0 += 1 }
      writes.block { $0 >= count }
    }
    try await withThrowingTaskGroup(of: UpdateDecision.self) { group in
      for number in 0..<count {
        let slow = try AppUpdateChecker(
          .init(app: app("1.0"), folder: URL(filePath: folder.path("updates-\(number)"))),
          source: ScriptedSource(nil), clock: clock.clock, fileSystem: disk)
        group.addTask { try await slow.logIn(account: "ada", answer: nil) }
      }
      for try await decision in group { #expect(decision.reason == .serverDidNotAnswer) }
    }
  }

  @Test("A checker's folder must be a file URL")
  func folderURL() throws {
    let configuration = AppUpdateChecker.Configuration(
      app: try app("1.0"), folder: try link("https://example.com/updates"))
    #expect(code { try AppUpdateChecker(configuration, source: ScriptedSource(nil)) } == .usage)
  }

  @Test("The minimum can be raised and lowered at run time")
  func policyAtRunTime() async throws {
    let checker = try checker(ScriptedSource(listing("2.0")))
    #expect(await checker.check().action == .remind)
    var policy = AppUpdatePolicy(minimumSupportedVersion: try version("1.5"))
    #expect(await checker.setPolicy(policy).reason == .belowMinimum(try version("1.5")))
    #expect(throws: UpdateRequired.self) { try checker.gate.enter("send order") }
    policy.minimumSupportedVersion = try version("1.0")
    #expect(await checker.setPolicy(policy).action == .noAction)
    try checker.gate.enter("send order")
  }

  @Test(
    "A canceled check returns at once, and the shared check continues",
    .timeLimit(.hang))
  func cancelledCheck() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let source = ScriptedSource { _ in
      for await _ in gate { break }
      return UpdateOffer(listing("2.0"))
    }
    let checker = try checker(source)
    let cancelled = Task { await checker.check() }
    let other = Task { await checker.check() }
    cancelled.cancel()
    #expect(await cancelled.value.action == .noAction)
    open.finish()
    #expect(await other.value.action == .remind)
  }

  @Test(
    "A check after another account has logged in asks for that account",
    .timeLimit(.hang))
  func otherAccount() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let source = ScriptedSource { account in
      if account == "ada" { for await _ in gate { break } }
      return UpdateOffer(
        AppVersionAnswer(hasNewVersion: true, requiresUpdate: account == "bob", version: "2.0"))
    }
    let checker = try checker(source)
    try await checker.logIn(account: "ada", answer: nil)
    async let first = checker.check()
    await waitUntil { source.looks == 1 }
    try await checker.logIn(account: "bob", answer: nil)
    #expect(await checker.check().reason == .serverRequiresUpdate)
    open.yield()
    _ = await first
    #expect(source.looks == 2)
  }

  @Test("After the login of another account without an answer, the next foreground checks")
  func loginWithoutAnswer() async throws {
    let source = ScriptedSource { account in
      UpdateOffer(
        AppVersionAnswer(hasNewVersion: true, requiresUpdate: account == "bob", version: "2.0"))
    }
    let checker = try checker(source)
    for _ in 0..<2 {
      try await checker.logIn(account: "ada", answer: nil)
      #expect(await checker.enterForeground().action != .force)
    }
    #expect(source.looks == 1)
    try await checker.logIn(account: "bob", answer: nil)
    #expect(await checker.enterForeground().reason == .serverRequiresUpdate)
  }

  @Test("A push during a check is not withdrawn by the answer from before it")
  func pushDuringCheck() async throws {
    let pushed = Mutex<AppUpdateChecker?>(nil)
    let source = ScriptedSource { _ in
      let first = pushed.withLock { checker in
        defer { checker = nil }
        return checker
      }
      guard let first else { return UpdateOffer(CheckStateTests.demand) }
      _ = await first.receive(CheckStateTests.push(version: "2.0"))
      return UpdateOffer(CheckStateTests.nothing)
    }
    let checker = try checker(source)
    try await checker.logIn(account: "ada", answer: nil)
    pushed.withLock { $0 = checker }
    #expect(await checker.check().action == .force)
    #expect(source.looks == 2)
    #expect(checker.gate.closedBy != nil)
  }
}

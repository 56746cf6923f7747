import HostedModel
import Dispatch
import HostedFileIO
import FoundationEssentials
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import AppUpdate

@Suite("The checker", .timeLimit(.hang))
struct CheckerTests {
  let folder: TemporaryFolder
  let clock = TestClock()
  let queue = DispatchQueue(label: "test")

  init() throws { folder = try TemporaryFolder() }

  func checker(
    _ source: ScriptedSource = ScriptedSource(nil), installed: String = "1.0",
    policy: AppUpdatePolicy = AppUpdatePolicy(), fileSystem: FileSystem = .real
  ) throws -> AppUpdateChecker {
    var configuration = AppUpdateChecker.Configuration(
      app: try app(installed), policy: policy, folder: URL(filePath: folder.path("updates")))
    configuration.languages = ["de-DE"]
    return try AppUpdateChecker(
      configuration, source: source, deliveringOn: queue, clock: clock.clock,
      fileSystem: fileSystem)
  }

  var file: String { UpdateMemoryFile.name }

  @Test("A foreground checks and reminds, and the reminder is recorded across a restart")
  func foreground() async throws {
    let source = ScriptedSource(listing("2.0"))
    let checker = try checker(source)
    var events = checker.events().makeAsyncIterator()
    #expect(await checker.enterForeground().action == .remind)
    guard case .prompt(let prompt)? = await events.next() else {
      Issue.record("no prompt")
      return
    }
    #expect(prompt.language == "de")
    #expect(prompt.message == "Courier 2.0 ist verfügbar; installiert ist 1.0.")
    #expect(await events.next() == .decided(prompt.decision))
    await checker.choose(.skip, in: prompt)

    clock.advance(7 * day)
    let next = try self.checker(source)
    #expect(await next.enterForeground().reason == .skipped)
    #expect(source.looks == 2)
  }

  @Test("A forced update survives a restart, and ends with the update")
  func forcedAcrossRestart() async throws {
    let first = try checker()
    try await first.logIn(account: "ada", answer: CheckStateTests.demand)
    #expect(throws: UpdateRequired.self) { try first.gate.enter("send order") }

    let second = try checker()
    let error = #expect(throws: UpdateRequired.self) { try second.gate.enter("send order") }
    #expect(error?.downloadURL == (try link("https://get.example/2")))
    #expect(error?.operation == "send order")
    #expect(error?.contentError.code == .updateRequired)
    #expect("\(try #require(error))".contains("https://get.example/2"))
    #expect(await second.enterForeground().action == .force)

    let updated = try checker(installed: "2.0")
    try updated.gate.enter("send order")
    #expect(await updated.enterForeground().action == .noAction)
  }

  @Test("A push closes the gate, and running operations complete")
  func push() async throws {
    let checker = try checker()
    try await checker.logIn(account: "ada", answer: CheckStateTests.nothing)
    let result = try await checker.gate.perform("send order") {
      let outcome = await checker.receive(CheckStateTests.push())
      guard case .remembered = outcome else { return "not remembered" }
      return "sent"
    }
    #expect(result == "sent")
    let error = await #expect(throws: UpdateRequired.self) {
      try await checker.gate.perform("send order") { Issue.record("the operation ran") }
    }
    #expect(error?.downloadURL == (try link("https://get.example/push")))
    #expect(await checker.receive(CheckStateTests.push(account: "bob")) == .ignored(.otherAccount))

    let payload = #"{"type":"mddy_needUpgrade","account":42,"downloadUrl":"https://get.example/p"}"#
    try await checker.logIn(account: "42", answer: nil)
    try checker.gate.enter("another account's order")
    guard case .remembered = await checker.receive(try UpdatePush(json: Array(payload.utf8)))
    else {
      Issue.record("the account can be a number")
      return
    }
    #expect(code { try UpdatePush(json: Array("x".utf8)) } == .answerUnreadable)
  }

  @Test("With 1,000 entries during a push, each completes or is refused, and none enters after it")
  func manyEntries() async throws {
    let checker = try checker()
    try await checker.logIn(account: "ada", answer: CheckStateTests.nothing)
    let finished = Watched(0)
    let outcomes = await withTaskGroup(of: Bool.self, returning: [Bool].self) { group in
      for number in 0..<1000 {
        if number == 500 {
          group.addTask {
            _ = await checker.receive(CheckStateTests.push())
            return (try? checker.gate.enter("after the push")) != nil
          }
        }
        group.addTask {
          do {
            try await checker.gate.perform("order \(number)") {
              await Task.yield()
              finished.change { $0 += 1 }
            }
            return true
          } catch { return false }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let passed = outcomes.filter { $0 }.count
    #expect(outcomes.count == 1001)
    #expect(finished.value == passed, "entries that passed completed, refused ones did not run")
    #expect(passed <= 1000)
    #expect(throws: UpdateRequired.self) { try checker.gate.enter("late") }
    #expect(checker.gate.closedBy?.reason == .pushRequiresUpdate)
  }

  @Test("Concurrent checks share one request")
  func sharedLook() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let source = ScriptedSource { _ in
      for await _ in gate { break }
      return UpdateOffer(listing("2.0"))
    }
    let checker = try checker(source)
    // Each task requests its check here, and the login comes after all of them.
    let looks = (0..<10).map { _ in Task.immediate { await checker.check() } }
    try await checker.logIn(account: "ada", answer: nil)
    open.yield()
    open.finish()
    var decisions: Set<UpdateDecision> = []
    for look in looks { decisions.insert(await look.value) }
    #expect(source.looks == 1)
    #expect(decisions.map(\.action) == [.remind])
  }

  @Test("Observers get all events in order, on their queue, and are held weakly")
  func observers() async throws {
    let checker = try checker(
      ScriptedSource(listing("2.0")), policy: AppUpdatePolicy(all: .critical))
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let observer = RecordingUpdateObserver { _ in
      #expect(DispatchQueue.getSpecific(key: key) == true)
    }
    checker.add(observer)
    checker.add(observer)
    weak var gone: RecordingUpdateObserver?
    do {
      let short = RecordingUpdateObserver()
      gone = short
      checker.add(short)
    }
    let decision = await checker.enterForeground()
    await drain()
    #expect(gone == nil)
    guard case .prompt(let prompt) = try #require(observer.events.dropFirst().first) else {
      Issue.record("no prompt")
      return
    }
    #expect(observer.events == [.gateClosed(decision), .prompt(prompt), .decided(decision)])
    checker.remove(observer)
    _ = await checker.check()
    await drain()
    #expect(observer.events.count == 3)
  }

  @Test("An observer can call the checker inside a callback")
  func reentrancy() async throws {
    let checker = try checker(ScriptedSource(listing("2.0")))
    let (calls, call) = AsyncStream.makeStream(of: UpdateDecision.self)
    let observer = RecordingUpdateObserver { event in
      guard case .prompt(let prompt) = event else { return }
      Task {
        await checker.choose(.skip, in: prompt)
        call.yield(await checker.check())
        call.finish()
      }
    }
    checker.add(observer)
    _ = await checker.enterForeground()
    for await decision in calls { #expect(decision.reason == .skipped) }
  }

  /// Waits until the observers have received earlier events.
  func drain() async {
    // The checker's private queue targets this one. A second round covers what the first enqueued.
    for _ in 0..<2 {
      await withCheckedContinuation { done in queue.async { done.resume() } }
    }
  }

  // MARK: Earlier events

  @Test("An observer that is removed or released at once leaves earlier events to the next one")
  func removedObserver() async throws {
    try folder.directory.createDirectory("updates").replaceFile(file, with: Array("x".utf8))
    let checker = try checker()
    let removed = RecordingUpdateObserver()
    let observer = RecordingUpdateObserver()
    queue.suspend()
    checker.add(removed)
    checker.remove(removed)
    checker.add(RecordingUpdateObserver())
    checker.add(observer)
    queue.resume()
    await drain()
    #expect(removed.events.isEmpty)
    #expect(observer.events.count == 1)
  }

  @Test("A stream gets earlier events even if the checker is released before")
  func earlyEventsOfReleasedChecker() async throws {
    try folder.directory.createDirectory("updates").replaceFile(file, with: Array("x".utf8))
    // Nothing is delivered before the checker is released.
    let stream = try queue.sync(execute: { try checker().events() })
    var codes: [ContentError.Code] = []
    for await case .failed(let error) in stream { codes.append(error.code) }
    #expect(codes == [.updateMemoryDamaged])
  }

  @Test("A stream that ends at once leaves earlier events to the next observer")
  func endedStream() async throws {
    try folder.directory.createDirectory("updates").replaceFile(file, with: Array("x".utf8))
    let checker = try checker()
    let observer = RecordingUpdateObserver()
    queue.suspend()
    _ = checker.events()
    checker.add(observer)
    queue.resume()
    await drain()
    #expect(observer.events.count == 1)
  }

  @Test("Only the first observer gets earlier events, once and in order")
  func backlog() async throws {
    let checker = try checker()
    let first = RecordingUpdateObserver()
    let second = RecordingUpdateObserver()
    // The queue is suspended, so an observer that is added in the meantime could get an event
    // twice.
    queue.suspend()
    let decision = try await checker.logIn(account: "ada", answer: CheckStateTests.nothing)
    checker.add(first)
    checker.add(second)
    let stream = checker.events()
    let later = try await checker.logIn(account: "ada", answer: CheckStateTests.offer)
    queue.resume()
    await drain()
    #expect(first.events.first == .decided(decision))
    #expect(first.events.last == .decided(later))
    #expect(first.events.count == 3)
    #expect(second.events == Array(first.events.dropFirst()))
    var events = stream.makeAsyncIterator()
    for expected in second.events { #expect(await events.next() == expected) }
  }

  @Test("The first observer gets the last 32 earlier events")
  func boundedBacklog() async throws {
    let checker = try checker()
    for _ in 0..<40 { try await checker.logIn(account: "ada", answer: CheckStateTests.nothing) }
    let last = try await checker.logIn(account: "ada", answer: nil)
    let observer = RecordingUpdateObserver()
    checker.add(observer)
    await drain()
    #expect(observer.events.count == 32)
    #expect(observer.events.last == .decided(last))
  }

  @Test("A failed check is reported, and a forced update stays forced")
  func failedLook() async throws {
    struct Broken: Error {}
    let source = ScriptedSource { _ in throw Broken() }
    let checker = try checker(source)
    try await checker.logIn(account: "ada", answer: CheckStateTests.demand)
    #expect(await checker.enterForeground().action == .force)
    await checker.logOut()
    await checker.resetHistory()
    #expect(await checker.check().action == .force)
    #expect(source.looks == 2)
  }
}

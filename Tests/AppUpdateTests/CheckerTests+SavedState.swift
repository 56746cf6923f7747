import HostedModel
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedTestSupport
import Testing

@testable import AppUpdate

/// The saved state of a checker.
extension CheckerTests {
  private var memory: Directory { get throws { try folder.directory.directory("updates") } }

  static let damages = [
    "", "{", "null", "[]", "{\"format\":2,\"memory\":{}}", "{\"format\":1}",
    "{\"format\":1,\"memory\":{\"history\":{\"skippedVersion\":\"x y\"}}}",
    String(repeating: " ", count: 200_000), String(repeating: "[", count: 60_000),
  ]

  @Test("A damaged saved state is lost, reported, and renamed", arguments: damages)
  func damaged(text: String) async throws {
    let first = try checker(ScriptedSource(listing("2.0")))
    _ = await first.enterForeground()
    try memory.replaceFile(file, with: Array(text.utf8))

    let checker = try checker(ScriptedSource(listing("2.0")))
    var events = checker.events().makeAsyncIterator()
    guard case .failed(let error)? = await events.next() else {
      Issue.record("no report")
      return
    }
    #expect(error.code == .updateMemoryDamaged)
    #expect(error.subject?.hasSuffix("updates/\(file)") == true)
    #expect(try memory.status(of: "\(file).damaged") != nil)
    #expect(await checker.enterForeground().action == .remind, "it checks and reminds again")
    let (kept, failure) = try UpdateMemoryFile(folder: folder.path("updates"), fileSystem: .real)
      .load()
    #expect(failure == nil)
    #expect(kept.lastLook == clock.now)
  }

  @Test(
    "If a step of reading the saved state fails, no checker is created, and nothing is lost",
    arguments: [EACCES, EIO, EMFILE])
  func unreadable(number: Int32) async throws {
    try await checker().logIn(account: "ada", answer: CheckStateTests.demand)
    for step in 1... {
      let plan = FaultPlan(failing: step, as: number)
      let isCreated = (try? checker(fileSystem: plan.fileSystem)) != nil
      #expect(isCreated != plan.hasFired, "step \(step)")
      #expect(try memory.status(of: "\(file).damaged") == nil)
      #expect(try checker().gate.closedBy?.action == .force)
      if !plan.hasFired { return }
    }
  }

  @Test(
    "If any step of saving fails, the gate closes, the error is reported, and the file stays valid"
  )
  func failingDisk() async throws {
    try await checker().logIn(account: "ada", answer: CheckStateTests.nothing)
    for number in 1... {
      let plan = FaultPlan(failing: number)
      let checker: AppUpdateChecker
      do {
        checker = try self.checker(fileSystem: plan.fileSystem)
      } catch {
        #expect(plan.hasFired)
        continue
      }
      let observer = RecordingUpdateObserver()
      checker.add(observer)
      try await checker.logIn(account: "ada", answer: CheckStateTests.demand)
      #expect(throws: UpdateRequired.self) { try checker.gate.enter("send order") }
      await drain()
      let isTold = observer.events.contains { if case .failed = $0 { true } else { false } }
      let (kept, damage) = try UpdateMemoryFile(folder: folder.path("updates"), fileSystem: .real)
        .load()
      #expect(damage == nil)
      guard plan.hasFired else {
        #expect(!kept.requirements.isEmpty)
        #expect(!isTold)
        return
      }
      #expect(isTold, "operation \(number)")
      try await self.checker().logIn(account: "ada", answer: CheckStateTests.nothing)
    }
  }

  @Test("A state that could not be saved is saved with the next event")
  func savedLater() async throws {
    let disk = FullDisk()
    let checker = try checker(fileSystem: disk.fileSystem)
    try await checker.logIn(account: "ada", answer: CheckStateTests.nothing)
    disk.set(true)
    let push = CheckStateTests.push(version: "2.0")
    _ = await checker.receive(push)
    #expect(try self.checker().gate.closedBy == nil, "not saved")
    disk.set(false)
    _ = await checker.receive(push)
    #expect(try self.checker().gate.closedBy?.reason == .pushRequiresUpdate)
  }

  @Test("A damaged state is reported by the next checker if the first one is refused")
  func damagedOfRefusedChecker() async throws {
    try folder.directory.createDirectory("updates").replaceFile(file, with: Array("x".utf8))
    var configuration = AppUpdateChecker.Configuration(
      app: try app("1.0"), folder: URL(filePath: folder.path("updates")))
    configuration.storeURL = URL(string: "http://store.example/app")
    #expect(throws: ContentError.self) {
      try AppUpdateChecker(configuration, source: ScriptedSource(nil))
    }
    let observer = RecordingUpdateObserver()
    let checker = try checker()
    checker.add(observer)
    await drain()
    #expect(observer.events.count == 1)
  }

  @Test("The longest accepted texts are saved in a readable file")
  func longTexts() async throws {
    let notes = String(repeating: "\u{1}", count: 100_000)
    let url = "https://get.example/" + String(repeating: "a", count: 1900)
    let answer = AppVersionAnswer(fields: [
      "needUpgrade": .bool(true), "downloadUrl": .string(url), "releaseNotes": .string(notes),
      "version": .string("9." + String(repeating: "0", count: 190)),
    ])
    let account = AccountID(rawValue: String(repeating: "\u{1}", count: 1024))
    try await checker().logIn(account: account, answer: answer)
    let again = try checker()
    #expect(again.gate.closedBy?.action == .force)
    #expect(
      await code { try await again.logIn(account: "\(account)x", answer: nil) } == .queryInvalid)
  }
}

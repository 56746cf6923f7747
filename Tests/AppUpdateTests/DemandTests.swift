import HostedModel
import FoundationEssentials
import HostedTestSupport
import Testing

@testable import AppUpdate

@Suite("Withdrawing, replacing and keeping requirements")
struct DemandTests {
  private typealias Event = UpdateCheckState.Event

  private func state(
    installed: String = "1.0", memory: UpdateMemory = UpdateMemory(),
    policy: AppUpdatePolicy = AppUpdatePolicy(), after events: [Event] = []
  ) throws -> UpdateCheckState {
    var state = UpdateCheckState(
      memory: memory, installed: try app(installed), policy: policy, checkInterval: hour,
      pushTypes: [UpdatePush.defaultType], storeURL: try link("https://store.example/app"))
    for event in events { _ = state.apply(event, at: noon) }
    return state
  }

  /// The server's answer to `ada`.
  ///
  /// Without the field `needUpgrade` for nil.
  private func answer(_ version: String, new: Bool = true, needUpgrade: Bool?) -> Event {
    var fields: [String: JSONValue] = ["version": .string(version), "hasNewVersion": .bool(new)]
    fields["needUpgrade"] = needUpgrade.map(JSONValue.bool)
    return .looked(UpdateOffer(AppVersionAnswer(fields: fields)), account: "ada")
  }

  private func store(_ version: String, _ more: [String: JSONValue] = [:]) -> Event {
    .looked(UpdateOffer(listing(version, more)), account: nil)
  }

  private let ada = Event.loggedIn(account: "ada", nil)

  // MARK: A version number that decreases

  @Test("After a wrong version number is corrected, the corrected one is required")
  func correctedDemand() throws {
    var state = try state(after: [ada, answer("20.0", needUpgrade: true)])
    let effects = state.apply(answer("2.0", needUpgrade: true), at: noon + hour)
    #expect(effects.decided?.offered == (try version("2.0")))
    #expect(effects.reported?.code == .appVersionWentDown)
    var updated = try self.state(installed: "2.0", memory: state.memory)
    #expect(!updated.apply(.launched, at: noon + hour).closesGate)
  }

  @Test("needUpgrade: false withdraws the requirement for a user who updated before the correction")
  func correctedAfterUpdate() throws {
    let wrong = try state(after: [ada, answer("20.0", needUpgrade: true)])
    for (installed, offered) in [("2.0", "2.0"), ("2.1", "2.0"), ("1.5", "2.0")] {
      var updated = try state(installed: installed, memory: wrong.memory)
      #expect(updated.apply(.launched, at: noon).closesGate, "the server still requires 20.0")
      let effects = updated.apply(
        answer(offered, new: installed < offered, needUpgrade: false), at: noon + hour)
      #expect(effects.contains(.openGate), "\(installed)")
      #expect(effects.reported?.code == .appVersionWentDown)
      #expect(effects.presented == nil, "a decreased number is not offered")
    }
  }

  @Test("A decreased number without needUpgrade neither forces nor withdraws")
  func silentDecrease() throws {
    var forced = try state(after: [ada, answer("20.0", needUpgrade: true)])
    let effects = forced.apply(answer("2.0", needUpgrade: nil), at: noon + hour)
    #expect(effects.decided?.action == .force)
    #expect(effects.reported?.code == .appVersionWentDown)
    #expect(!effects.contains(.openGate))
  }

  @Test("A forced version also applies to users who were reminded of a wrong, higher one")
  func forcedAfterWrongReminder() throws {
    var state = try state(after: [ada, answer("20.0", needUpgrade: false)])
    let effects = state.apply(answer("2.1", needUpgrade: true), at: noon + hour)
    #expect(effects.decided?.action == .force)
    #expect(effects.decided?.reason == .serverRequiresUpdate)
    #expect(effects.reported?.code == .appVersionWentDown)
    #expect(state.requirement?.needed == (try version("2.1")))
  }

  @Test("After a wrong number was corrected, users are reminded of the next versions")
  func remindedAfterCorrection() throws {
    var state = try state(after: [ada, answer("20.0", needUpgrade: false)])
    let correction = state.apply(answer("2.1", needUpgrade: false), at: noon + 30 * day)
    #expect(correction.presented == nil, "a decreased number is not offered")
    #expect(correction.reported?.code == .appVersionWentDown)
    let later = state.apply(answer("2.2", needUpgrade: false), at: noon + 60 * day)
    #expect(later.presented?.offered == (try version("2.2")))
    #expect(later.reported == nil)
    _ = state.apply(answer("2.1", needUpgrade: nil), at: noon + 90 * day)
    #expect(
      state.memory.history.highestOnServer == (try version("2.2")),
      "without needUpgrade, it may be from a cache")
  }

  @Test(
    "A required version that is not newer than the installed one forces nothing")
  func forcedButInstalled() throws {
    var state = try state(installed: "3.0", after: [ada, answer("20.0", needUpgrade: false)])
    let effects = state.apply(answer("2.1", needUpgrade: true), at: noon + hour)
    #expect(effects.decided?.action == UpdateDecision.Action.noAction)
    #expect(state.requirement == nil)
  }

  @Test("needUpgrade: false withdraws a requirement even with an invalid version")
  func unreadableVersion() throws {
    let answers: [(Bool?, Bool)] = [(false, true), (true, false), (nil, false)]
    for (needUpgrade, isOpen) in answers {
      var state = try state(after: [ada, answer("2.0", needUpgrade: true)])
      let effects = state.apply(answer("2.0 (7)", needUpgrade: needUpgrade), at: noon + hour)
      #expect(effects.contains(.openGate) == isOpen)
    }
  }

  @Test("A wrong number in the store does not lock out users of its newest version")
  func wrongNumberInStore() throws {
    let policy = AppUpdatePolicy(all: .critical)
    let wrong = try state(policy: policy, after: [store("20.0")])
    var updated = try state(installed: "2.0", memory: wrong.memory, policy: policy)
    #expect(updated.apply(.launched, at: noon).closesGate)
    let effects = updated.apply(store("2.0"), at: noon + hour)
    #expect(effects.contains(.openGate))
    #expect(effects.decided?.reason == .upToDate)
    #expect(effects.reported?.code == .appVersionWentDown)
  }

  @Test("The minimum is enforced even if the store's number decreased")
  func minimumAfterDecrease() throws {
    let policy = AppUpdatePolicy(minimumSupportedVersion: try version("2.0"))
    let reminded = try state(after: [store("20.0")])
    var state = try state(memory: reminded.memory, policy: policy)
    let effects = state.apply(store("2.1"), at: noon + hour)
    #expect(effects.decided?.reason == .belowMinimum(try version("2.0")))
    #expect(effects.reported?.code == .appVersionWentDown)
  }

  @Test("A wrong number is corrected in the server's file, without a lockout")
  func correctedFile() async throws {
    let server = try AppServer()
    let source = ServerUpdateSource(
      server: server.url, bundleID: "com.example.courier", transport: try HTTPLookupTransport())
    func checker(_ installed: String) throws -> AppUpdateChecker {
      try AppUpdateChecker(
        .init(app: app(installed), folder: URL(filePath: server.folder.path("memory"))),
        source: source)
    }
    try server.offer("20.0", [:], ["minimumVersion": .string("1.5")])
    let old = try checker("1.0")
    try await old.logIn(account: "ada", answer: nil)
    #expect(await old.check().action == .force)
    try server.offer("2.0", [:], ["minimumVersion": .string("1.5")])
    let updated = try checker("2.0")
    _ = await updated.check()
    try updated.gate.enter("send order")
    #expect(await old.check().offered == (try version("2.0")), "the old version is still refused")
  }

  // MARK: A requirement does not lapse

  @Test(
    "A forced update stays forced while a later version is too recent",
    arguments: ["2026-01-15T11:00:00Z", "2026-01-15T20:00:00Z"])
  func youngRelease(date: String) throws {
    let policy = AppUpdatePolicy(all: .critical)
    var state = try state(policy: policy, after: [store("2.0")])
    let effects = state.apply(
      store("2.1", ["currentVersionReleaseDate": .string(date)]), at: noon)
    #expect(effects.decided?.action == .force)
    #expect(!effects.contains(.openGate))
    #expect(state.requirement?.needed == (try version("2.0")))
  }

  @Test("A forced update stays forced if the clock is set back before its release")
  func clockSetBack() throws {
    let policy = AppUpdatePolicy(all: .critical)
    var state = try state(policy: policy, after: [store("2.0")])
    for date in ["2025-12-01T08:00:00Z", "2025-12-01T20:00:00Z"] {
      let now = try Date("2025-12-01T09:00:00Z", strategy: .iso8601)
      let effects = state.apply(
        store("2.0", ["currentVersionReleaseDate": .string(date)]), at: now)
      #expect(effects.decided?.action == .force)
    }
  }

  @Test("A release date far in the future does not delay an update")
  func farFuture() throws {
    var state = try state(policy: AppUpdatePolicy(all: .critical))
    let future = store("2.0", ["currentVersionReleaseDate": .string("2027-01-15T12:00:00Z")])
    #expect(state.apply(future, at: noon).decided?.action == .force)
  }

  // MARK: Pushes

  private func push(_ version: String? = nil) -> Event {
    .pushed(CheckStateTests.push(version: version))
  }

  @Test("A late push without a version is ignored if the newest known version is installed")
  func latePush() throws {
    let known = [
      answer("2.0", new: false, needUpgrade: false), store("2.0"), store("1.9"),
    ]
    for event in known {
      var state = try state(installed: "2.0", after: [ada, event])
      #expect(state.apply(push(), at: noon) == [.handledPush(.ignored(.upToDate))])
      #expect(state.requirement == nil)
    }
    var corrected = try state(
      installed: "2.0",
      after: [
        ada, answer("20.0", needUpgrade: false), answer("2.0", new: false, needUpgrade: false),
      ])
    #expect(corrected.apply(push(), at: noon) == [.handledPush(.ignored(.upToDate))])
    var behind = try state(
      installed: "2.0", after: [ada, store("2.0"), answer("2.1", needUpgrade: false)])
    #expect(behind.apply(push(), at: noon).closesGate)
  }

  @Test("A push has at most 64 KiB, and an answer at most 1 MiB")
  func sizes() {
    func json(_ size: Int) -> [UInt8] {
      Array("{}".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: size - 2)
    }
    #expect(code { try UpdatePush(json: json(64 << 10)) } == nil)
    #expect(code { try UpdatePush(json: json((64 << 10) + 1)) } == .answerUnreadable)
    #expect(code { try AppVersionAnswer(json: json(1 << 20)) } == nil)
    #expect(code { try AppVersionAnswer(json: json((1 << 20) + 1)) } == .answerUnreadable)
  }

  @Test("A push does not replace a higher requirement", arguments: ["2.0", nil])
  func lowerPush(version: String?) throws {
    var state = try state(after: [ada, answer("3.0", needUpgrade: true)])
    let held = try #require(state.requirement?.decision)
    #expect(state.apply(push(version), at: noon) == [.handledPush(.remembered(held))])
    #expect(state.requirement?.needed == (try HostedAppUpdateTests.version("3.0")))
    #expect(state.apply(push("3.1"), at: noon).closesGate)
    #expect(state.requirement?.needed == (try HostedAppUpdateTests.version("3.1")))
  }

  @Test("An answer to a request from before a push or a login is not used, but requested again")
  func olderAnswer() throws {
    let nothing = UpdateOffer(CheckStateTests.nothing)
    let events: [Event] = [push("2.0"), .loggedIn(account: "ada", CheckStateTests.demand)]
    for event in events {
      var state = try state(after: [ada])
      let before = state.serverStatements
      _ = state.apply(event, at: noon)
      let older = state.apply(.looked(nothing, account: "ada", statements: before), at: noon)
      #expect(older == [.look])
      #expect(state.requirement != nil)
      let now = state.serverStatements
      let newer = state.apply(.looked(nothing, account: "ada", statements: now), at: noon)
      #expect(newer.contains(.openGate))
    }
  }

  // MARK: Accounts

  @Test("The answer for one account keeps the requirement for another")
  func otherAccount() throws {
    var state = try state(after: [ada, answer("2.0", needUpgrade: true)])
    let bob = state.apply(.loggedIn(account: "bob", CheckStateTests.nothing), at: noon)
    #expect(bob.contains(.openGate))
    #expect(state.apply(.loggedIn(account: "ada", nil), at: noon).closesGate)
    let withdrawn = state.apply(.loggedIn(account: "ada", CheckStateTests.nothing), at: noon)
    #expect(withdrawn.contains(.openGate))
  }

  @Test("After the logout, an update that is forced for any account is forced")
  func loggedOut() throws {
    var state = try state(after: [
      .loggedIn(account: "ada", CheckStateTests.demand), .loggedIn(account: "bob", nil),
    ])
    #expect(state.requirement == nil)
    #expect(state.apply(.loggedOut, at: noon).closesGate)
  }

  @Test("Requirements for two accounts and from a store are kept separately")
  func severalDemands() throws {
    var state = try state(
      policy: AppUpdatePolicy(all: .critical),
      after: [
        store("3.0"), ada, answer("2.0", needUpgrade: true),
        .loggedIn(account: "bob", CheckStateTests.demand),
      ])
    #expect(state.requirement?.needed == (try version("3.0")), "the highest requirement applies")
    _ = state.apply(store("1.0"), at: noon)
    for account: AccountID in ["ada", "bob"] {
      _ = state.apply(.loggedIn(account: account, nil), at: noon)
      #expect(state.requirement?.needed == (try version("2.0")))
    }
  }

  @Test("A requirement for one account does not apply to one in another Unicode form")
  func unicodeForms() throws {
    var state = try state(after: [.loggedIn(account: "\u{e9}", CheckStateTests.demand)])
    #expect(state.requirement != nil)
    _ = state.apply(.loggedIn(account: "e\u{301}", nil), at: noon)
    #expect(state.requirement == nil)
  }
}

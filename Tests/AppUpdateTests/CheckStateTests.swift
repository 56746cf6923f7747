import HostedModel
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import AppUpdate

@Suite("The checker's state machine")
struct CheckStateTests {
  private func state(
    installed: String = "1.0", memory: UpdateMemory = UpdateMemory(),
    policy: AppUpdatePolicy = AppUpdatePolicy()
  ) throws -> UpdateCheckState {
    UpdateCheckState(
      memory: memory, installed: try app(installed), policy: policy, checkInterval: hour,
      pushTypes: [UpdatePush.defaultType], storeURL: try link("https://store.example/app"))
  }

  /// Returns a new state after `events`.
  private func state(
    after events: UpdateCheckState.Event..., installed: String = "1.0",
    policy: AppUpdatePolicy = AppUpdatePolicy()
  ) throws -> UpdateCheckState {
    var state = try state(installed: installed, policy: policy)
    for event in events { _ = state.apply(event, at: noon) }
    return state
  }

  static let demand = AppVersionAnswer(
    hasNewVersion: true, requiresUpdate: true, downloadURL: URL(string: "https://get.example/2"),
    version: "2.0")
  static let offer = AppVersionAnswer(
    hasNewVersion: true, requiresUpdate: false, version: "2.0")
  static let nothing = AppVersionAnswer(hasNewVersion: false, requiresUpdate: false)

  static func push(
    account: String? = "ada", type: String? = UpdatePush.defaultType, version: String? = nil,
    link: String? = "https://get.example/push"
  ) -> UpdatePush {
    var fields: [String: JSONValue] = [:]
    fields["account"] = account.map(JSONValue.string)
    fields["type"] = type.map(JSONValue.string)
    fields["version"] = version.map(JSONValue.string)
    fields["downloadUrl"] = link.map(JSONValue.string)
    return UpdatePush(fields: fields)
  }

  @Test("The answer at login decides: none, remind, force")
  func logIn() throws {
    for (answer, action) in [
      (Self.nothing, UpdateDecision.Action.noAction), (Self.offer, .remind), (Self.demand, .force),
    ] {
      var state = try state()
      let effects = state.apply(.loggedIn(account: "ada", answer), at: noon)
      #expect(effects.first == .save)
      #expect(effects.decided?.action == action)
      #expect(effects.presented?.action == (action == .noAction ? nil : action))
      #expect(effects.closesGate == (action == .force))
      #expect(state.memory.account == "ada")
      #expect((state.requirement != nil) == (action == .force))
    }
  }

  @Test("A foreground checks only after the interval")
  func interval() throws {
    var state = try state()
    #expect(state.apply(.foreground(ignoresInterval: false), at: noon) == [.look])
    _ = state.apply(.looked(UpdateOffer(listing("1.0")), account: nil), at: noon)
    let early = state.apply(.foreground(ignoresInterval: false), at: noon + hour - 1)
    #expect(early.decided?.reason == .checkedRecently(until: noon + hour))
    #expect(!early.contains(.look))
    #expect(state.apply(.foreground(ignoresInterval: true), at: noon + 1) == [.look])
    #expect(state.apply(.foreground(ignoresInterval: false), at: noon + hour) == [.look])
    #expect(
      state.apply(.foreground(ignoresInterval: false), at: noon - day) == [.look],
      "a clock that was set back does not prevent a check")
  }

  @Test("A failed check is reported, does not count, and keeps a forced update")
  func failedLook() throws {
    let error = ContentError(.hostNotFound, "No address", remedy: "Wait")
    var free = try state()
    #expect(free.apply(.lookFailed(error), at: noon).decided?.reason == .checkFailed)
    #expect(free.apply(.foreground(ignoresInterval: false), at: noon) == [.look])
    var forced = try state(after: .loggedIn(account: "ada", Self.demand))
    let effects = forced.apply(.lookFailed(error), at: noon)
    #expect(effects.first == .report(error))
    #expect(effects.decided?.action == .force)
    #expect(forced.requirement != nil)
  }

  @Test("A forced update is presented at each foreground until the app is updated")
  func forcedUntilUpdated() throws {
    var forced = try state(after: .loggedIn(account: "ada", Self.demand))
    for number in 1...3 {
      let effects = forced.apply(.foreground(ignoresInterval: false), at: noon + Double(number))
      #expect(effects.presented?.reason == .serverRequiresUpdate)
    }
    for (installed, isForced) in [("1.0", true), ("1.9", true), ("2.0", false), ("2.1", false)] {
      var next = try state(installed: installed, memory: forced.memory)
      let effects = next.apply(.launched, at: noon)
      #expect(effects.closesGate == isForced)
      #expect((next.requirement != nil) == isForced)
      #expect(next.memory.account == "ada")
    }
  }

  @Test("A requirement without a version is met by any newer version")
  func unversionedDemand() throws {
    let answer = AppVersionAnswer(hasNewVersion: true, requiresUpdate: true)
    let forced = try state(after: .loggedIn(account: "ada", answer), installed: "1.4")
    for (installed, isForced) in [("1.4.0", true), ("1.3", true), ("1.4.1", false)] {
      var next = try state(installed: installed, memory: forced.memory)
      _ = next.apply(.launched, at: noon)
      #expect((next.requirement != nil) == isForced)
    }
  }

  @Test("The minimum version meets a requirement of the minimum")
  func minimumDemand() throws {
    let policy = AppUpdatePolicy(minimumSupportedVersion: try version("1.5"))
    let forced = try state(
      after: .looked(UpdateOffer(listing("3.0")), account: nil), policy: policy)
    for (installed, isForced) in [("1.4", true), ("1.5", false), ("3.0", false)] {
      var next = try state(installed: installed, memory: forced.memory, policy: policy)
      _ = next.apply(.launched, at: noon)
      #expect((next.requirement != nil) == isForced)
    }
  }

  @Test("A reminder is repeated only after its interval")
  func reminderInterval() throws {
    var state = try state()
    let looked = UpdateCheckState.Event.looked(UpdateOffer(listing("2.0")), account: nil)
    #expect(state.apply(looked, at: noon).presented?.action == .remind)
    #expect(state.apply(looked, at: noon + day - 1).presented == nil)
    #expect(state.apply(looked, at: noon + day).presented?.action == .remind)
  }

  @Test("A skipped version is not offered again, but a later one is")
  func skip() throws {
    var state = try state()
    #expect(state.apply(.skipped(try version("2.0")), at: noon) == [.save])
    let effects = state.apply(
      .looked(UpdateOffer(listing("2.0.0")), account: nil), at: noon + day)
    #expect(effects.decided?.reason == .skipped)
    let next = state.apply(.looked(UpdateOffer(listing("2.1")), account: nil), at: noon + day)
    #expect(next.presented?.action == .remind)
  }

  @Test("A forced update cannot be skipped")
  func noSkipWhenForced() throws {
    var state = try state(after: .loggedIn(account: "ada", Self.demand))
    #expect(state.apply(.skipped(try version("2.0")), at: noon) == [])
    #expect(state.requirement != nil)
  }

  struct PushCase: Sendable {
    let push: UpdatePush
    let outcome: PushOutcome.Reason?
  }

  static let pushCases: [PushCase] = [
    PushCase(push: push(), outcome: nil),
    PushCase(push: push(version: "2.0"), outcome: nil),
    PushCase(push: push(link: "javascript:x"), outcome: nil),
    PushCase(push: push(account: "bob"), outcome: .otherAccount),
    PushCase(push: push(account: "ADA"), outcome: .otherAccount),
    PushCase(push: push(account: nil), outcome: .withoutAccount),
    PushCase(push: push(account: ""), outcome: .withoutAccount),
    PushCase(push: push(type: "news"), outcome: .otherType),
    PushCase(push: push(type: nil), outcome: .otherType),
    PushCase(push: push(version: "1.0"), outcome: .upToDate),
    PushCase(push: push(version: "0.9"), outcome: .upToDate),
  ]

  @Test("A push is recorded, or ignored with a reason", arguments: pushCases)
  func remembered(one: PushCase) throws {
    var state = try state(after: .loggedIn(account: "ada", Self.nothing))
    let memory = state.memory
    let effects = state.apply(.pushed(one.push), at: noon)
    if let reason = one.outcome {
      #expect(effects == [.handledPush(.ignored(reason))])
      #expect(state.memory == memory)
    } else {
      let demanded = try #require(state.requirement?.decision)
      #expect(
        effects == [.save, .closeGate(demanded), .handledPush(.remembered(demanded))],
        "no prompt now")
      let expected = one.push.downloadURL ?? state.storeURL
      #expect(demanded.downloadURL == expected)
      let foreground = state.apply(.foreground(ignoresInterval: false), at: noon + 1)
      #expect(foreground.presented?.reason == .pushRequiresUpdate)
    }
  }

  @Test("A push without a logged-in account is ignored")
  func pushWithoutLogIn() throws {
    var state = try state()
    #expect(
      state.apply(.pushed(Self.push()), at: noon) == [.handledPush(.ignored(.otherAccount))])
    var left = try self.state(after: .loggedIn(account: "ada", nil), .loggedOut)
    #expect(
      left.apply(.pushed(Self.push()), at: noon) == [.handledPush(.ignored(.otherAccount))])
  }

  @Test("A requirement for one account does not bind another, but binds the first again")
  func otherAccount() throws {
    var state = try state(after: .loggedIn(account: "ada", Self.demand))
    let bob = state.apply(.loggedIn(account: "bob", nil), at: noon)
    #expect(bob.contains(.openGate))
    #expect(bob.presented == nil)
    #expect(state.requirement == nil)
    let ada = state.apply(.loggedIn(account: "ada", nil), at: noon)
    #expect(ada.closesGate)
    #expect(ada.presented?.action == .force)
  }

  @Test("Only the origin of a requirement can withdraw it")
  func withdrawal() throws {
    var byServer = try state(after: .loggedIn(account: "ada", Self.demand))
    let store = byServer.apply(.looked(UpdateOffer(listing("1.0")), account: "ada"), at: noon)
    #expect(store.decided?.action == .force, "a store does not withdraw a server's requirement")
    let server = byServer.apply(.loggedIn(account: "ada", Self.nothing), at: noon)
    #expect(server.contains(.openGate))
    #expect(byServer.requirement == nil)

    let policy = AppUpdatePolicy(all: .critical)
    var byStore = try state(
      after: .looked(UpdateOffer(listing("2.0")), account: nil), policy: policy)
    let answer = byStore.apply(.loggedIn(account: "ada", Self.nothing), at: noon)
    #expect(answer.decided?.action == .force)
    #expect(byStore.requirement != nil)
  }

  @Test("An answer without a statement keeps a requirement")
  func demandStays() throws {
    let policy = AppUpdatePolicy(all: .critical)
    let offers = [nil, UpdateOffer(listing("1.9")), UpdateOffer(listing("?"))]
    for offer in offers {
      var state = try state(
        after: .looked(UpdateOffer(listing("2.0")), account: nil), policy: policy)
      let effects = state.apply(.looked(offer, account: nil), at: noon + day)
      #expect(effects.decided?.action == .force)
      #expect(state.requirement?.needed == (try version("2.0")))
    }
  }

  @Test("A decreased version is refused and reported")
  func wentDown() throws {
    var state = try state(after: .looked(UpdateOffer(listing("3.0")), account: nil))
    let effects = state.apply(.looked(UpdateOffer(listing("2.0")), account: nil), at: noon + day)
    #expect(effects.decided?.reason == .versionWentDown(from: try version("3.0")))
    #expect(effects.reported?.code == .appVersionWentDown)
    #expect(state.memory.history.highestInStore == (try version("3.0")))
    #expect(state.apply(.forgotten, at: noon) == [.save])
    let again = state.apply(.looked(UpdateOffer(listing("2.0")), account: nil), at: noon + day)
    #expect(again.decided?.action == .remind)
  }

  @Test("An answer for an account that has logged out since is ignored")
  func lateAnswer() throws {
    var state = try state(after: .loggedIn(account: "bob", Self.nothing))
    let memory = state.memory
    let effects = state.apply(.looked(UpdateOffer(Self.demand), account: "ada"), at: noon)
    #expect(effects.decided?.reason == .accountChanged)
    #expect(state.memory == memory)
  }

  @Test("A requirement is presented once when it is new, and once per foreground")
  func presentedOnce() throws {
    var state = try state(policy: AppUpdatePolicy(all: .critical))
    let looked = UpdateCheckState.Event.looked(UpdateOffer(listing("2.0")), account: nil)
    #expect(state.apply(.foreground(ignoresInterval: false), at: noon) == [.look])
    let first = state.apply(looked, at: noon)
    #expect(first.presented?.action == .force)
    #expect(first.closesGate)
    let second = state.apply(.foreground(ignoresInterval: false), at: noon + day)
    #expect(second.presented?.action == .force)
    #expect(second.last == .look)
    let third = state.apply(looked, at: noon + day)
    #expect(third.presented == nil)
    #expect(!third.closesGate, "the gate is closed by the same requirement")
  }

  @Test("No order of events bypasses a forced update or leaves the gate in a wrong state", .slow)
  func randomSchedules() throws {
    var random = SplitMix(state: 7)
    func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    for _ in 0..<300 {
      var state = try state(policy: AppUpdatePolicy(all: [.critical, .standard][pick(2)]))
      var isClosed = false
      for step in 0..<40 {
        let events: [UpdateCheckState.Event] = [
          .launched, .foreground(ignoresInterval: pick(2) == 0), .loggedOut, .forgotten,
          .loggedIn(account: ["ada", "bob"][pick(2)], [nil, Self.demand, Self.offer][pick(3)]),
          .looked(
            [nil, UpdateOffer(listing("1.0")), UpdateOffer(listing("2.0"))][pick(3)], account: nil),
          .pushed(Self.push()), .skipped(try version("2.0")),
        ]
        let before = state.memory
        let effects = state.apply(events[pick(events.count)], at: noon + Double(step) * hour)
        for effect in effects {
          switch effect {
          case .closeGate: isClosed = true
          case .openGate:
            #expect(isClosed)
            isClosed = false
          default: break
          }
        }
        #expect(isClosed == (state.requirement != nil))
        #expect((state.memory != before) == (effects.first == .save))
        if isClosed, let decided = effects.decided { #expect(decided.action == .force) }
        for case .present(let decision) in effects where isClosed {
          #expect(decision.action == .force)
        }
      }
    }
  }
}

extension [UpdateCheckState.Effect] {
  var decided: UpdateDecision? {
    for case .decided(let decision) in self { return decision }
    return nil
  }
  var presented: UpdateDecision? {
    for case .present(let decision) in self { return decision }
    return nil
  }
  var reported: ContentError? {
    for case .report(let error) in self { return error }
    return nil
  }
  var closesGate: Bool {
    contains { if case .closeGate = $0 { true } else { false } }
  }
}

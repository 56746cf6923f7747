import HostedModel
import FoundationEssentials
import Testing

@testable import AppUpdate

@Suite("The policy")
struct PolicyTests {
  private func decide(
    _ offer: UpdateOffer?, installed: String = "1.0", system: String? = nil,
    policy: AppUpdatePolicy = AppUpdatePolicy(), history: UpdateHistory = UpdateHistory()
  ) throws -> UpdateDecision {
    try policy.decision(
      about: offer, installed: app(installed, system: system), history: history, now: noon)
  }

  private func store(_ version: String, _ more: [String: JSONValue] = [:]) -> UpdateOffer {
    UpdateOffer(listing(version, more))
  }

  private func server(_ fields: [String: JSONValue]) -> UpdateOffer {
    UpdateOffer(AppVersionAnswer(fields: fields))
  }

  static let levels: [(String, AppVersion.Level)] = [
    ("2.0", .major), ("1.1", .minor), ("1.0.1", .patch), ("1.0.0.1", .revision),
  ]
  static let rules: [AppUpdatePolicy.Rule] = [
    .ignore, .annoying, .critical, .standard, .hinting, .persistent, .relaxed,
    .init(.remind, frequency: .every(.seconds(600)), allowsSkip: true),
  ]

  /// The possible histories of reminders.
  enum Past: CaseIterable, Sendable {
    case nothing, remindedNow, remindedAnHourAgo, remindedYesterday, remindedAWeekAgo
    case remindedInTheFuture, skippedThis, skippedOther

    var secondsAgo: Double? {
      switch self {
      case .nothing, .skippedThis, .skippedOther: nil
      case .remindedNow: 0
      case .remindedAnHourAgo: hour
      case .remindedYesterday: day
      case .remindedAWeekAgo: 7 * day
      case .remindedInTheFuture: -day
      }
    }
  }

  @Test("Each rule at each level in each state", arguments: rules, Past.allCases)
  func table(rule: AppUpdatePolicy.Rule, past: Past) throws {
    for (offered, level) in Self.levels {
      var policy = AppUpdatePolicy(all: .ignore)
      switch level {
      case .major: policy.major = rule
      case .minor: policy.minor = rule
      case .patch: policy.patch = rule
      case .revision: policy.revision = rule
      case .suffix: policy.suffix = rule
      }
      var history = UpdateHistory()
      history.lastReminder = past.secondsAgo.map { noon - $0 }
      if past == .skippedThis { history.skippedVersion = try version("\(offered).0") }
      if past == .skippedOther { history.skippedVersion = try version("1.0.0.0.1") }
      let decision = try decide(store(offered), policy: policy, history: history)

      let isSkipped = past == .skippedThis && rule.allowsSkip
      let ago = past.secondsAgo ?? .infinity
      let interval = rule.frequency.interval.inSeconds
      let isRecent = ago >= 0 && ago < interval
      switch rule.action {
      case .noAction: #expect(decision.reason == .levelIgnored(level))
      case .force: #expect(decision.reason == .newVersion(level))
      case .remind where isSkipped: #expect(decision.reason == .skipped)
      case .remind where isRecent:
        #expect(decision.reason == .remindedRecently(until: noon - ago + interval))
      case .remind: #expect(decision.reason == .newVersion(level))
      }
      let isHeldBack = rule.action == .remind && (isSkipped || isRecent)
      #expect(decision.action == (isHeldBack ? .noAction : rule.action))
      #expect(decision.allowsSkip == (decision.action == .remind && rule.allowsSkip))
      for other in Self.levels where other.1 != level {
        #expect(try decide(store(other.0), policy: policy).reason == .levelIgnored(other.1))
      }
    }
  }

  @Test("An update from a prerelease to its release has its own level")
  func suffix() throws {
    var policy = AppUpdatePolicy(all: .ignore)
    policy.suffix = .critical
    let decision = try decide(store("2.0"), installed: "2.0-beta.3", policy: policy)
    #expect(decision.action == .force)
    #expect(decision.reason == .newVersion(.suffix))
  }

  @Test(
    "A version that is not newer is not an update",
    arguments: [
      ("1.0", "1.0.0", UpdateDecision.Reason.upToDate), ("1.0.0", "1.0", .upToDate),
      ("2.0", "1.9", .offerIsOlder), ("1.10", "1.9", .offerIsOlder),
      ("1.0.1", "1.0", .offerIsOlder), ("2.0", "2.0-beta", .offerIsOlder),
    ])
  func notNewer(installed: String, offered: String, reason: UpdateDecision.Reason) throws {
    let policy = AppUpdatePolicy(all: .critical, minimumSupportedVersion: try version("9"))
    let decision = try decide(store(offered), installed: installed, policy: policy)
    #expect(decision.action == .noAction)
    #expect(decision.reason == reason)
  }

  @Test("A missing offer and an invalid version have their own reasons")
  func noOffer() throws {
    #expect(try decide(nil).reason == .notOffered)
    #expect(try decide(store("latest")).reason == .versionInvalid)
    #expect(try decide(UpdateOffer(AppListing(fields: [:]))).reason == .versionInvalid)
    let garbled = server(["needUpgrade": .bool(true), "version": .string("new!")])
    #expect(try decide(garbled).reason == .versionInvalid)
  }

  @Test("A decreased version is refused, unless a server forces it")
  func wentDown() throws {
    var history = UpdateHistory()
    history.note(store("3.0"))
    history.note(store("2.5"))
    #expect(history.highestInStore == (try version("3.0")))
    let policy = AppUpdatePolicy(all: .critical)
    let decision = try decide(store("2.9"), policy: policy, history: history)
    #expect(decision.action == .noAction)
    #expect(decision.reason == .versionWentDown(from: try version("3.0")))
    #expect(try decide(store("3.0"), policy: policy, history: history).action == .force)

    let offer = server(["needUpgrade": .bool(true), "version": .string("2.9")])
    #expect(
      try decide(offer, history: history).action == .force, "a store does not judge a server")
    history.note(server(["version": .string("3.0")]))
    #expect(
      try decide(offer, history: history).action == .force, "an explicit demand counts")
    let reminder = server(["hasNewVersion": .bool(true), "version": .string("2.9")])
    #expect(
      try decide(reminder, history: history).reason == .versionWentDown(from: version("3.0")))
  }

  @Test(
    "A system that is too old never gets an update",
    arguments: [("14.9", "15.0", true), ("15.0", "15", false), ("9.3", "10.0", true)])
  func minimumSystem(system: String, needed: String, isTooOld: Bool) throws {
    let policy = AppUpdatePolicy(all: .critical, minimumSupportedVersion: try version("2.0"))
    let offer = store("2.0", ["minimumOsVersion": .string(needed)])
    let decision = try decide(offer, system: system, policy: policy)
    #expect(decision.action == (isTooOld ? .noAction : .force))
    if isTooOld { #expect(decision.reason == .systemTooOld(needed: try version(needed))) }
    #expect(try decide(offer, policy: policy).action == .force, "an unknown system is not checked")
    let answer = server([
      "hasNewVersion": .integer(1), "minimumOsVersion": .string(needed), "version": .string("2.0"),
    ])
    #expect(try decide(answer, system: system).action == (isTooOld ? .noAction : .remind))
  }

  @Test("A version below the minimum is forced, for any rule, age and history")
  func minimumVersion() throws {
    var history = UpdateHistory()
    history.skippedVersion = try version("2.0")
    history.lastReminder = noon
    let policy = AppUpdatePolicy(
      all: .ignore, minimumSupportedVersion: try version("1.5"),
      minimumReleaseAge: .seconds(30 * day))
    let offer = store("2.0", ["currentVersionReleaseDate": .string("2026-01-15T11:00:00Z")])
    for (installed, action) in [
      ("1.4.9", UpdateDecision.Action.force), ("1.5", .noAction), ("1.6", .noAction),
    ] {
      let decision = try decide(offer, installed: installed, policy: policy, history: history)
      #expect(decision.action == action)
      #expect(!decision.allowsSkip)
    }
    let reason = try decide(offer, policy: policy, history: history).reason
    #expect(reason == .belowMinimum(try version("1.5")))
    let answer = server(["hasNewVersion": .string("1")])
    #expect(try decide(answer, policy: policy).action == .force)
  }

  @Test("A blocked version is forced, others are not", arguments: ["1.6", "1.6.0"])
  func blocked(blocked: String) throws {
    var policy = AppUpdatePolicy(all: .ignore)
    policy.blockedVersions = [try version(blocked)]
    for (installed, action) in [
      ("1.5", UpdateDecision.Action.noAction), ("1.6", .force), ("1.6.1", .noAction),
      ("2.0", .noAction),
    ] {
      #expect(try decide(store("2.0"), installed: installed, policy: policy).action == action)
    }
    #expect(try decide(store("2.0"), installed: "1.6", policy: policy).reason == .blockedVersion)
    #expect(try decide(store("1.6"), installed: "1.6", policy: policy).reason == .upToDate)
    let answer = server(["hasNewVersion": .bool(true)])
    #expect(try decide(answer, installed: "1.6", policy: policy).action == .force)
  }

  @Test(
    "A version must have the policy's minimum age",
    arguments: [
      (0, 0.0, true), (1, 0, false), (1, 23 * hour, false), (1, 24 * hour, true),
      (7, 6 * day, false), (7, 7 * day, true), (-3, 0, true), (1, -day, false),
      (1, -2 * day, true),
    ] as [(Int, Double, Bool)])
  func releaseAge(days: Int, age: Double, isRipe: Bool) throws {
    let policy = AppUpdatePolicy(all: .critical, minimumReleaseAge: .seconds(Double(days) * day))
    var offer = store("2.0")
    offer.releaseDate = noon - age
    let decision = try decide(offer, policy: policy)
    #expect(decision.action == (isRipe ? .force : .noAction))
    if !isRipe {
      #expect(decision.reason == .releasedRecently(until: noon - age + Double(days) * day))
    }
    offer.releaseDate = nil
    #expect(try decide(offer, policy: policy).action == .force)
  }

  static let truths: [(JSONValue, Bool)] = [
    (.bool(true), true), (.integer(1), true), (.string("1"), true), (.string("true"), true),
    (.bool(false), false), (.integer(0), false), (.string("0"), false), (.string("false"), false),
    (.null, false), (.string("?"), false),
  ]

  @Test("A server's answer can have strings, numbers and booleans", arguments: truths, truths)
  func serverAnswer(new: (JSONValue, Bool), needed: (JSONValue, Bool)) throws {
    let offer = server([
      "hasNewVersion": new.0, "needUpgrade": needed.0,
      "downloadUrl": .string("https://get.example/courier"),
    ])
    let decision = try decide(offer)
    let expected: UpdateDecision.Action = needed.1 ? .force : new.1 ? .remind : .noAction
    #expect(decision.action == expected)
    #expect(decision.downloadURL == (try link("https://get.example/courier")))
    switch expected {
    case .force: #expect(decision.reason == .serverRequiresUpdate)
    case .remind: #expect(decision.reason == .serverOffersUpdate)
    case .noAction: #expect(decision.reason == .serverHasNoUpdate)
    }
    #expect(!decision.allowsSkip, "without a version, skipping is impossible")
  }

  @Test("A server that requires the installed version requires nothing")
  func serverDemandsInstalled() throws {
    for (text, reason) in [("1.0", UpdateDecision.Reason.upToDate), ("0.9", .offerIsOlder)] {
      let offer = server(["needUpgrade": .bool(true), "version": .string(text)])
      #expect(try decide(offer).reason == reason)
    }
  }

  @Test("A server's reminder has its own rule, and its version can be skipped")
  func serverReminder() throws {
    let offer = server(["hasNewVersion": .bool(true), "version": .string("2.0")])
    var history = UpdateHistory()
    #expect(try decide(offer).allowsSkip)
    history.skippedVersion = try version("2.0.0")
    #expect(try decide(offer, history: history).reason == .skipped)
    var policy = AppUpdatePolicy()
    policy.serverReminder = .annoying
    #expect(try decide(offer, policy: policy, history: history).action == .remind)
  }

  @Test(
    "A link that does not lead to a store or a web page is omitted",
    arguments: [
      "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "", "not a url", "/relative",
      "https://x.example/" + String(repeating: "a", count: 2000),
    ])
  func links(text: String) throws {
    let offer = server(["needUpgrade": .bool(true), "downloadUrl": .string(text)])
    #expect(try decide(offer).downloadURL == nil)
    #expect(try decide(offer).action == .force)
  }

  @Test(
    "Links to stores are kept", arguments: ["itms-apps://x.example/app/id1", "HTTPS://x.example"])
  func storeLinks(text: String) throws {
    let offer = server(["needUpgrade": .bool(true), "downloadUrl": .string(text)])
    #expect(try decide(offer).downloadURL?.absoluteString == text)
  }

  @Test("Release notes are truncated between characters")
  func notes() throws {
    let long = String(repeating: "ü", count: 5000)
    let notes = try decide(store("2.0", ["releaseNotes": .string("a" + long)])).releaseNotes
    #expect(notes == "a" + String(repeating: "ü", count: 3999))
    #expect(try decide(store("2.0", ["releaseNotes": .string("short")])).releaseNotes == "short")
  }

  @Test("Encoding and decoding preserves a policy and a decision")
  func coding() throws {
    var policy = AppUpdatePolicy(all: .relaxed, minimumSupportedVersion: try version("1.5"))
    policy.major = .init(.remind, frequency: .every(.seconds(5)), allowsSkip: false)
    let policyBytes = try JSONEncoder().encode(policy)
    #expect(try JSONDecoder().decode(AppUpdatePolicy.self, from: policyBytes) == policy)
    let decision = try decide(store("2.0"), policy: policy)
    let bytes = try JSONEncoder().encode(decision)
    #expect(try JSONDecoder().decode(UpdateDecision.self, from: bytes) == decision)
  }
}

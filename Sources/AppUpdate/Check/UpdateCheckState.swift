import FoundationEssentials

/// The state of a checker as a pure state machine: events in, effects out.
///
/// It does not use a clock, files or the network: `now` comes with each event. Effects are
/// performed in order. `save` precedes all effects that an observer can see.
struct UpdateCheckState: Sendable {
  enum Event: Sendable {
    case launched
    /// The app entered the foreground. `ignoresInterval` requests a check at any time.
    case foreground(ignoresInterval: Bool)
    /// A check for `account` succeeded. A nil offer means that no source offers the app.
    ///
    /// `statements` is the value of `serverStatements` when the check began; nil does not compare.
    case looked(UpdateOffer?, account: AccountID?, statements: Int? = nil)
    case lookFailed(ContentError)
    /// An account logged in. The server's reply may have an answer.
    case loggedIn(account: AccountID, AppVersionAnswer?)
    case loggedOut
    case pushed(UpdatePush)
    case skipped(AppVersion)
    /// The rules changed, for example by a remote configuration.
    case policyChanged(AppUpdatePolicy)
    /// Forget skipped versions, reminders and recorded versions.
    case forgotten
  }

  enum Effect: Hashable, Sendable {
    case save
    /// Refuse core operations from now on.
    case closeGate(UpdateDecision)
    /// Accept core operations again.
    case openGate
    /// Check for a newer version, then send `looked` or `lookFailed`.
    case look
    case present(UpdateDecision)
    case decided(UpdateDecision)
    case handledPush(PushOutcome)
    case report(ContentError)
  }

  private(set) var memory: UpdateMemory
  let installed: InstalledApp
  private(set) var policy: AppUpdatePolicy
  /// The number of answers at logins and accepted pushes since the launch.
  private(set) var serverStatements = 0
  /// The minimum time between two checks in the foreground, in seconds.
  let checkInterval: Double
  let pushTypes: Set<String>
  /// The link to the update if no other source has one.
  let storeURL: URL?

  init(
    memory: UpdateMemory, installed: InstalledApp, policy: AppUpdatePolicy,
    checkInterval: Double, pushTypes: Set<String>, storeURL: URL?
  ) {
    self.memory = memory
    self.installed = installed
    self.policy = policy
    self.checkInterval = checkInterval
    self.pushTypes = pushTypes
    self.storeURL = storeURL
    // Policy and `storeURL` may have changed since the link was saved, and others can write the
    // file.
    replaceLinks()
  }

  /// `storeURL` if the policy permits it.
  private var storeLink: URL? { policy.link(storeURL) }

  /// Replaces saved links that the policy does not permit, and missing ones, with `storeURL`.
  private mutating func replaceLinks() {
    let policy = policy
    let fallback = storeLink
    memory.replaceLinks { policy.link($0) ?? fallback }
  }

  /// The highest current requirement for this account or for all accounts.
  var requirement: UpdateRequirement? {
    memory.requirements
      .filter { $0.account == nil || memory.account == nil || $0.account == memory.account }
      .max { $0.isLower(than: $1) }
  }

  mutating func apply(_ event: Event, at now: Date) -> [Effect] {
    let memoryBefore = memory
    var closedBefore = requirement?.decision
    // At launch, the gate is open, regardless of the saved state.
    if case .launched = event { closedBefore = nil }
    let wanted = react(to: event, at: now)
    var effects: [Effect] = memory == memoryBefore ? [] : [.save]
    let closedNow = requirement?.decision
    if let closedNow, closedNow != closedBefore { effects.append(.closeGate(closedNow)) }
    if closedNow == nil, closedBefore != nil { effects.append(.openGate) }
    return effects + wanted
  }

  private mutating func react(to event: Event, at now: Date) -> [Effect] {
    switch event {
    case .launched:
      memory.removeRequirements(metBy: installed.version)
      return []
    case .foreground(let ignoresInterval): return enterForeground(ignoresInterval, at: now)
    case .looked(let offer, let account, let statements):
      // The server's answer for one account does not bind another account that logged in since.
      if offer?.origin == .server, account != memory.account {
        return [.decided(decision(otherwise: .accountChanged))]
      }
      // The answer may be older than a push or an answer at a login that came in the meantime.
      if offer?.origin == .server, let statements, statements != serverStatements { return [.look] }
      memory.lastLook = now
      // A requirement from before the foreground was already presented.
      return judge(offer, wasAsked: requirement != nil, at: now)
    case .lookFailed(let error):
      return [.report(error), .decided(decision(otherwise: .checkFailed))]
    case .loggedIn(let account, let answer): return logIn(account, answer, at: now)
    case .loggedOut:
      memory.account = nil
      return []
    case .pushed(let push): return take(push)
    case .skipped(let version):
      // A forced version cannot be skipped.
      if requirement == nil { memory.history.skippedVersion = version }
      return []
    case .policyChanged(let policy):
      self.policy = policy
      replaceLinks()
      return [.look]
    case .forgotten:
      memory.history = UpdateHistory()
      memory.lastLook = nil
      return []
    }
  }

  /// Presents a requirement at each foreground, and checks if the interval is over.
  private func enterForeground(_ ignoresInterval: Bool, at now: Date) -> [Effect] {
    let effects: [Effect] = requirement.map { [.present($0.decision)] } ?? []
    // A check in the future means that the clock was set back. It must not prevent a check.
    if !ignoresInterval, let last = memory.lastLook, last <= now {
      let until = last.addingTimeInterval(checkInterval)
      if now < until {
        return effects + [.decided(decision(otherwise: .checkedRecently(until: until)))]
      }
    }
    return effects + [.look]
  }

  /// The decision if nothing changed: the current requirement, or no action with `reason`.
  func decision(otherwise reason: UpdateDecision.Reason) -> UpdateDecision {
    requirement?.decision ?? UpdateDecision(.noAction, reason, installed: installed.version)
  }

  private mutating func logIn(_ account: AccountID, _ answer: AppVersionAnswer?, at now: Date)
    -> [Effect]
  {
    let isOther = account != memory.account
    memory.account = account
    guard let answer else {
      // The last check may have been about another account.
      if isOther { memory.lastLook = nil }
      let effects: [Effect] = requirement.map { [.present($0.decision)] } ?? []
      return effects + [.decided(decision(otherwise: .serverDidNotAnswer))]
    }
    serverStatements += 1
    return judge(UpdateOffer(answer), wasAsked: false, at: now)
  }

  private mutating func judge(_ offer: UpdateOffer?, wasAsked: Bool, at now: Date) -> [Effect] {
    var offer = offer
    let refusal = offer.flatMap { policy.refusal(ofLinkIn: $0) }
    let link = policy.link(offer?.downloadURL) ?? storeLink
    offer?.downloadURL = link
    let decision = policy.decision(
      about: offer, installed: installed, history: memory.history, now: now)
    var effects: [Effect] = []
    if let offer, let offered = offer.version, let highest = memory.history.decrease(to: offer) {
      let error = ContentError(
        .appVersionWentDown,
        "The server offers version \(offered), but offered \(highest) before",
        remedy: "Ask the server's owner. Versions older than an earlier offer are not accepted")
      effects.append(.report(error))
    }
    if let offer { memory.history.note(offer) }
    settle(decision, offer)
    if decision.action == .force, let refusal { effects.append(.report(refusal)) }
    if decision.action == .force, !wasAsked {
      effects.append(.present(requirement?.decision ?? decision))
    }
    if decision.action == .remind, requirement == nil {
      memory.history.lastReminder = now
      effects.append(.present(decision))
    }
    return effects + [.decided(requirement?.decision ?? decision)]
  }

  /// Sets, replaces or withdraws a requirement; only its origin can withdraw it.
  private mutating func settle(_ decision: UpdateDecision, _ offer: UpdateOffer?) {
    let origin = offer?.origin ?? .store
    let account = origin == .server ? memory.account : nil
    if decision.action == .force {
      memory.require(UpdateRequirement(decision, origin: origin, account: account))
      return
    }
    switch decision.reason {
    // These do not withdraw a requirement, unless the server explicitly does.
    case .versionWentDown, .versionInvalid, .notOffered, .releasedRecently:
      guard offer?.isExplicitlyOptional == true else { return }
    default: break
    }
    memory.withdraw(origin, account: account)
  }

  /// A push only closes the gate; the prompt comes at the next foreground.
  private mutating func take(_ push: UpdatePush) -> [Effect] {
    guard let type = push.type, pushTypes.contains(type) else {
      return [.handledPush(.ignored(.otherType))]
    }
    guard let account = push.account else { return [.handledPush(.ignored(.withoutAccount))] }
    guard account == memory.account else { return [.handledPush(.ignored(.otherAccount))] }
    // A push without a version is late if the newest known version is installed.
    if let needed = push.version ?? memory.history.highest, installed.version >= needed {
      return [.handledPush(.ignored(.upToDate))]
    }
    serverStatements += 1
    var offer = UpdateOffer(
      AppVersionAnswer(hasNewVersion: true, requiresUpdate: true, version: push.version))
    offer.downloadURL = push.link?.url
    let refusal = policy.refusal(ofLinkIn: offer)
    offer.downloadURL = policy.link(offer.downloadURL) ?? storeLink
    let decision = UpdateDecision(
      .force, .pushRequiresUpdate, installed: installed.version, offer: offer)
    let pushed = UpdateRequirement(decision, origin: .server, account: account)
    if let held = memory.requirement(.server, account: account), pushed.isLower(than: held) {
      return [.handledPush(.remembered(held.decision))]
    }
    memory.require(pushed)
    return [.handledPush(.remembered(decision))] + [refusal.map(Effect.report)].compactMap(\.self)
  }
}

import FoundationEssentials

/// The checker's life as a pure state machine: events go in, what is to be done comes out.
///
/// No clock, no file, no network: `now` comes with each event. What comes out is carried out in its
/// order; `save` stands before whatever an observer may see.
struct UpdateCheckState: Sendable {
  /// Something that happened.
  enum Event: Sendable {
    /// The process started.
    case launched
    /// The app came to the foreground, or a look is wanted whenever the last one was.
    case foreground(looksAnyway: Bool)
    /// A look for `account` succeeded; nil is an app that is offered nowhere.
    case looked(UpdateOffer?, account: String?)
    /// A look failed.
    case lookFailed(ContentError)
    /// An account logged in; the server's answer came with it, or did not.
    case loggedIn(account: String, AppVersionAnswer?)
    /// Nobody is logged in any more.
    case loggedOut
    /// A push arrived.
    case pushed(UpdatePush)
    /// The user chose to skip a version.
    case skipped(AppVersion)
    /// The rules were changed, for instance by a remote configuration.
    case policyChanged(AppUpdatePolicy)
    /// What was remembered of skips, reminders and versions is to be forgotten.
    case forgotten
  }

  /// Something to do.
  enum Effect: Hashable, Sendable {
    /// Write the memory down.
    case save
    /// Refuse core operations from now on.
    case closeGate(UpdateDecision)
    /// Refuse them no more.
    case openGate
    /// Look for a newer version, then tell `looked` or `lookFailed`.
    case look
    /// Show this to the user.
    case present(UpdateDecision)
    /// Tell what was decided.
    case decided(UpdateDecision)
    /// Tell what became of a push.
    case handledPush(PushOutcome)
    /// Tell about a failure.
    case report(ContentError)
  }

  private(set) var memory: UpdateMemory
  let installed: InstalledApp
  private(set) var policy: AppUpdatePolicy
  /// Seconds between two looks at the foreground.
  let lookInterval: Double
  /// Types of pushes that are for this checker.
  let pushTypes: Set<String>
  /// Where updates are where nobody says it better.
  let storeURL: URL?

  init(
    memory: UpdateMemory, installed: InstalledApp, policy: AppUpdatePolicy,
    lookInterval: Double, pushTypes: Set<String>, storeURL: URL?
  ) {
    self.memory = memory
    self.installed = installed
    self.policy = policy
    self.lookInterval = lookInterval
    self.pushTypes = pushTypes
    self.storeURL = storeURL
    // The policy may have changed since the link was remembered, and the file is not ours alone.
    self.memory.replaceLinks { policy.link($0) ?? storeURL }
  }

  /// The highest requirement that holds now: not one for an account other than the current one.
  var requirement: UpdateRequirement? {
    memory.requirements
      .filter { $0.account == nil || memory.account == nil || $0.account == memory.account }
      .max { $0.isLower(than: $1) }
  }

  /// Takes an event in and says what is to be done about it.
  mutating func apply(_ event: Event, at now: Date) -> [Effect] {
    let memoryBefore = memory
    let closedBefore: UpdateDecision? = event.isLaunch ? nil : requirement?.decision
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
    case .foreground(let looksAnyway): return comeToForeground(looksAnyway, at: now)
    case .looked(let offer, let account):
      // What a server says to one account does not bind another that logged in meanwhile.
      if offer?.origin == .server, account != memory.account {
        return [conclusion(.accountChanged)]
      }
      memory.lastLook = now
      // A requirement that held at the foreground was presented there.
      return judge(offer, wasAsked: requirement != nil, at: now)
    case .lookFailed(let error): return [.report(error), conclusion(.lookFailed)]
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
      return [.look]
    case .forgotten:
      memory.history = UpdateHistory()
      memory.lastLook = nil
      return []
    }
  }

  /// A requirement is asked again at each foreground; a look is made when its interval is over.
  private func comeToForeground(_ looksAnyway: Bool, at now: Date) -> [Effect] {
    let effects: [Effect] = requirement.map { [.present($0.decision)] } ?? []
    // A look in the future means that the clock was set back, which must not keep others from it.
    if !looksAnyway, let last = memory.lastLook, last <= now {
      let until = last.addingTimeInterval(lookInterval)
      if now < until { return effects + [conclusion(.lookedRecently(until: until))] }
    }
    return effects + [.look]
  }

  /// What is told when nothing new was decided: the requirement that holds, or none with `reason`.
  private func conclusion(_ reason: UpdateDecision.Reason) -> Effect {
    .decided(
      requirement?.decision ?? UpdateDecision(.none, reason, installed: installed.version))
  }

  private mutating func logIn(_ account: String, _ answer: AppVersionAnswer?, at now: Date)
    -> [Effect]
  {
    memory.account = account
    guard let answer else {
      let effects: [Effect] = requirement.map { [.present($0.decision)] } ?? []
      return effects + [conclusion(.serverSilent)]
    }
    return judge(UpdateOffer(answer), wasAsked: false, at: now)
  }

  /// Decides about an offer and remembers what follows from it.
  private mutating func judge(_ offer: UpdateOffer?, wasAsked: Bool, at now: Date) -> [Effect] {
    var offer = offer
    let refusal = offer.flatMap { policy.refusal(ofLinkIn: $0) }
    let link = policy.link(offer?.downloadURL) ?? storeURL
    offer?.downloadURL = link
    let decision = policy.decision(
      about: offer, installed: installed, history: memory.history, now: now)
    var effects: [Effect] = []
    if let offer, let highest = memory.history.decrease(to: offer) {
      effects.append(.report(.wentDown(from: highest, to: offer.version)))
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

  /// Sets, replaces or withdraws a requirement; only who demanded it can withdraw it.
  private mutating func settle(_ decision: UpdateDecision, _ offer: UpdateOffer?) {
    let origin = offer?.origin ?? .store
    let account = origin == .server ? memory.account : nil
    if decision.action == .force {
      memory.require(UpdateRequirement(decision, origin: origin, account: account))
      return
    }
    switch decision.reason {
    // These do not say whether the demand still stands; the server may say so itself.
    case .versionWentDown, .versionUnreadable, .notOffered, .releasedRecently:
      guard offer?.isExplicitlyOptional == true else { return }
    default: break
    }
    memory.withdraw(origin, account: account)
  }

  /// A push closes the gate and interrupts nothing: the user is asked at the next foreground.
  private mutating func take(_ push: UpdatePush) -> [Effect] {
    guard let type = push.type, pushTypes.contains(type) else {
      return [.handledPush(.ignored(.otherType))]
    }
    guard let account = push.account else { return [.handledPush(.ignored(.withoutAccount))] }
    guard account == memory.account else { return [.handledPush(.ignored(.otherAccount))] }
    // Without a version it is late if the newest version that is known is installed.
    if let needed = push.version ?? memory.history.highest, installed.version >= needed {
      return [.handledPush(.ignored(.upToDate))]
    }
    var offer = UpdateOffer(
      AppVersionAnswer(hasNewVersion: true, needUpgrade: true, version: push.version))
    offer.downloadURL = push.link?.url
    let refusal = policy.refusal(ofLinkIn: offer)
    offer.downloadURL = policy.link(offer.downloadURL) ?? storeURL
    let decision = UpdateDecision(
      .force, .pushDemands, installed: installed.version, offer: offer)
    let pushed = UpdateRequirement(decision, origin: .server, account: account)
    if let held = memory.requirement(.server, account: account), pushed.isLower(than: held) {
      return [.handledPush(.remembered(held.decision))]
    }
    memory.require(pushed)
    return [.handledPush(.remembered(decision))] + [refusal.map(Effect.report)].compactMap(\.self)
  }
}

extension UpdateCheckState.Event {
  /// At a launch the gate of the new process is open, whatever was remembered.
  fileprivate var isLaunch: Bool { if case .launched = self { true } else { false } }
}

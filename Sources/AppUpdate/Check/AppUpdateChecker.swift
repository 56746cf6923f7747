public import Dispatch
package import FileIO
public import FoundationEssentials

/// Checks at log-in, at each foreground and when a push comes whether the app must be updated.
///
/// What it remembers survives restarts; one checker uses a folder. It shows nothing: prompts are
/// handed to observers as data. It interrupts nothing: a forced update closes `gate`, which refuses
/// the next core operation.
public actor AppUpdateChecker {
  /// What a checker works with.
  public struct Configuration: Sendable {
    /// The app that runs.
    public var app: InstalledApp
    /// The rules.
    public var policy: AppUpdatePolicy
    /// The folder of what is remembered; it is made when it is missing.
    public var folder: URL
    /// Seconds between two looks at the foreground; 0 looks each time.
    ///
    /// Default: an hour.
    public var lookInterval: Double
    /// Types of pushes that force an update.
    public var pushTypes: Set<String>
    /// Where updates are when neither store nor server nor push names a link that may be opened.
    public var storeURL: URL?
    /// The words of prompts.
    public var texts: UpdateTexts
    /// The user's languages, the best first.
    public var languages: [String]

    /// Names what must be named; the rest has defaults.
    public init(app: InstalledApp, policy: AppUpdatePolicy = AppUpdatePolicy(), folder: URL) {
      self.app = app
      self.policy = policy
      self.folder = folder
      lookInterval = 3600
      pushTypes = [UpdatePush.defaultType]
      storeURL = nil
      texts = UpdateTexts()
      languages = ["en"]
    }
  }

  /// Stands in front of core operations; closed while an update is forced, also by what was
  /// remembered when the checker was created.
  public nonisolated let gate = UpdateGate()

  private let configuration: Configuration
  private let source: any AppUpdateSource
  private let clock: AppUpdateClock
  private let file: UpdateMemoryFile
  private nonisolated let delivery: UpdateDelivery
  private var state: UpdateCheckState
  /// The checks in progress; a caller that asks for the same one waits for its result.
  private var looks: [LookupCachePolicy: Task<UpdateDecision?, Never>] = [:]

  /// Creates a checker; its observers are called on `queue`, or on one of its own.
  ///
  /// Throws when the folder cannot be made, and `insecureConnectionRefused` for a store link that
  /// is not secure. A memory that cannot be read is told to the first observer as
  /// `updateMemoryDamaged`.
  public init(
    _ configuration: Configuration, source: any AppUpdateSource,
    deliveringOn queue: DispatchQueue? = nil
  ) throws {
    try self.init(
      configuration, source: source, deliveringOn: queue, clock: .system, fileSystem: .real)
  }

  package init(
    _ configuration: Configuration, source: any AppUpdateSource,
    deliveringOn queue: DispatchQueue? = nil, clock: AppUpdateClock, fileSystem: FileSystem
  ) throws {
    self.configuration = configuration
    self.source = source
    self.clock = clock
    delivery = UpdateDelivery(on: queue)
    file = try UpdateMemoryFile(
      folder: configuration.folder.path(percentEncoded: false), fileSystem: fileSystem)
    let (memory, damage) = file.load()
    if let damage { delivery.keep(.failed(damage)) }
    state = UpdateCheckState(
      memory: memory, installed: configuration.app, policy: configuration.policy,
      lookInterval: configuration.lookInterval, pushTypes: configuration.pushTypes,
      storeURL: try DownloadLink(configuration.storeURL)?.permitted(
        itmsServices: configuration.policy.allowsItmsServices))
    // A launch only closes the gate or forgets a requirement that is met; the rest waits for
    // events.
    for case .closeGate(let decision) in state.apply(.launched, at: clock.now()) {
      gate.close(decision)
      delivery.keep(.gateClosed(decision))
    }
  }

  // MARK: When

  /// The app came to the foreground: asks again what is forced, and looks when the interval is
  /// over.
  ///
  /// Returns what holds then; a look that fails is told to observers and leaves what was forced.
  @discardableResult
  public func enterForeground() async -> UpdateDecision {
    await take(.foreground(looksAnyway: false)) ?? current
  }

  /// Looks now with a request, whenever the last look was.
  ///
  /// `bypassesCDN` also passes the caches between here and the server by, which may be hours old.
  /// If its task is cancelled, it returns what holds at once; the look goes on for other callers.
  @discardableResult
  public func check(bypassesCDN: Bool = false) async -> UpdateDecision {
    let caching: LookupCachePolicy = bypassesCDN ? .reloadIgnoringAllCaches : .reload
    return await take(.foreground(looksAnyway: true), caching) ?? current
  }

  /// An account logged in, and `answer` came with the server's reply; nil when it said nothing.
  ///
  /// The answer decides for this account, also that what was forced before is withdrawn. Throws
  /// `queryInvalid` for an account of more than 1,024 bytes.
  @discardableResult
  public func logIn(account: String, answer: AppVersionAnswer?) async throws -> UpdateDecision {
    guard account.utf8.count <= 1024 else {
      throw ContentError(
        .queryInvalid, "An account's name has \(account.utf8.count) bytes, more than 1024",
        remedy: "Use the account's identifier")
    }
    return await take(.loggedIn(account: account, answer)) ?? current
  }

  /// Nobody is logged in any more; pushes are ignored until somebody is.
  public func logOut() async { _ = await take(.loggedOut) }

  /// A push arrived.
  ///
  /// Nothing is interrupted and nobody is asked now: the gate closes, and the user is asked at the
  /// next foreground.
  @discardableResult
  public func receive(_ push: UpdatePush) async -> PushOutcome {
    let effects = apply(.pushed(push))
    for case .handledPush(let outcome) in effects { return outcome }
    return .ignored(.otherType)
  }

  /// The user chose a button of a prompt; skipping is remembered, never for what is forced.
  public func choose(_ choice: UpdatePrompt.Choice, in prompt: UpdatePrompt) async {
    guard choice == .skip, prompt.decision.allowsSkip, let version = prompt.decision.offered
    else { return }
    _ = await take(.skipped(version))
  }

  /// Changes the rules, such as the minimum that a remote configuration names, and looks at once.
  ///
  /// The look may be answered from the cache. The policy is not remembered: the next start takes
  /// the one of its configuration.
  @discardableResult
  public func setPolicy(_ policy: AppUpdatePolicy) async -> UpdateDecision {
    await take(.policyChanged(policy)) ?? current
  }

  /// Forgets skipped versions, reminders and the highest versions that were offered; what is
  /// forced stays.
  public func forget() async { _ = await take(.forgotten) }

  // MARK: Who is told

  /// Adds an observer, which is held weakly; the first one hears what happened before it.
  public nonisolated func add(_ observer: any AppUpdateObserver) {
    delivery.add(observer, of: self)
  }

  /// Removes an observer; it hears nothing more once a call that is under way has ended.
  public nonisolated func remove(_ observer: any AppUpdateObserver) { delivery.remove(observer) }

  /// What observers are told, as a sequence; each use makes one of its own.
  public nonisolated var events: AsyncStream<AppUpdateEvent> { delivery.stream() }

  // MARK: Carrying out

  private var current: UpdateDecision {
    state.requirement?.decision
      ?? UpdateDecision(.none, .serverSilent, installed: configuration.app.version)
  }

  /// Takes an event in, carries out what follows, and returns what was decided at the end.
  private func take(
    _ event: UpdateCheckState.Event, _ caching: LookupCachePolicy = .useCache
  ) async -> UpdateDecision? {
    let effects = apply(event)
    if effects.contains(.look) { return await result(of: looking(caching)) }
    for case .decided(let decision) in effects.reversed() { return decision }
    return nil
  }

  /// Waits for a look, or until the caller's task is cancelled.
  private func result(of look: Task<UpdateDecision?, Never>) async -> UpdateDecision? {
    let (results, result) = AsyncStream.makeStream(of: UpdateDecision?.self)
    Task { result.yield(await look.value) }
    for await decision in results { return decision }
    return state.requirement?.decision
      ?? UpdateDecision(.none, .cancelled, installed: configuration.app.version)
  }

  /// Carries out everything but a look; in one go, so that no two events mix.
  private func apply(_ event: UpdateCheckState.Event) -> [UpdateCheckState.Effect] {
    let effects = state.apply(event, at: clock.now())
    for effect in effects { carryOut(effect) }
    return effects
  }

  private func carryOut(_ effect: UpdateCheckState.Effect) {
    switch effect {
    case .save: save()
    case .closeGate(let decision):
      gate.close(decision)
      delivery.deliver(.gateClosed(decision), of: self)
    case .openGate:
      gate.open()
      delivery.deliver(.gateOpened, of: self)
    case .present(let decision):
      let prompt = UpdatePrompt(
        decision, appName: configuration.app.name, texts: configuration.texts,
        languages: configuration.languages)
      if let prompt { delivery.deliver(.prompt(prompt), of: self) }
    case .decided(let decision): delivery.deliver(.decided(decision), of: self)
    case .report(let error): delivery.deliver(.failed(error), of: self)
    case .look, .handledPush: break
    }
  }

  private func save() {
    do {
      try file.save(state.memory)
    } catch {
      let failure = ContentError(error, while: "remembering the state of app updates")
      delivery.deliver(.failed(failure), of: self)
    }
  }

  private func looking(_ caching: LookupCachePolicy) -> Task<UpdateDecision?, Never> {
    if let look = looks[caching] { return look }
    let account = state.memory.account
    let task = Task { [source, app = configuration.app] in
      let event: UpdateCheckState.Event
      do {
        let offer = try await source.newestOffer(
          for: app, account: account, caching: caching)
        event = .looked(offer, account: account)
      } catch {
        event = .lookFailed(ContentError(error, while: "looking for a newer version of the app"))
      }
      looks[caching] = nil
      return await take(event)
    }
    looks[caching] = task
    return task
  }
}

/// Where a checker looks for the newest version: a store's look-up or one's own server.
public protocol AppUpdateSource: Sendable {
  /// The newest version that is offered; nil when no storefront offers the app.
  func newestOffer(
    for app: InstalledApp, account: String?, caching: LookupCachePolicy
  ) async throws -> UpdateOffer?
}

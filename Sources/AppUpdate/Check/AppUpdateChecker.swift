public import Dispatch
public import FoundationEssentials
import HostedConcurrency
import HostedFileIO

/// Checks whether the app must be updated: at login, when it enters the foreground, and for pushes.
///
/// Its state survives restarts. Use each folder for one checker only. It has no user interface:
/// observers get prompts as data. It does not interrupt the user: a forced update closes `gate`,
/// which refuses the next core operation. Can be used from any task.
public actor AppUpdateChecker {
  /// The configuration of a checker.
  public struct Configuration: Sendable {
    /// The running app.
    public var app: InstalledApp
    /// The rules.
    public var policy: AppUpdatePolicy
    /// The folder for the checker's state, as a file URL.
    ///
    /// It is created if it does not exist.
    public var folder: URL
    /// The minimum time between two checks in the foreground; zero checks each time.
    ///
    /// Default: one hour.
    public var checkInterval: Duration = .seconds(3600)
    /// The types of pushes that force an update; other types are ignored.
    ///
    /// Default: `UpdatePush.defaultType`.
    public var pushTypes: Set<String> = [UpdatePush.defaultType]
    /// The link to the update if store, server and push do not have a permitted link.
    ///
    /// Default: nil.
    public var storeURL: URL?
    /// The texts of prompts.
    ///
    /// Default: the built-in texts.
    public var texts = UpdateTexts()
    /// The user's languages (BCP 47), in order of preference.
    ///
    /// Default: English.
    public var languages = ["en"]

    /// Creates a configuration with default values for the rest.
    public init(app: InstalledApp, policy: AppUpdatePolicy = AppUpdatePolicy(), folder: URL) {
      self.app = app
      self.policy = policy
      self.folder = folder
    }
  }

  /// Guards core operations.
  ///
  /// It is closed while an update is forced. It is closed at once if the saved state has a
  /// requirement.
  public nonisolated let gate = UpdateGate()

  private let executor = QueueExecutor()
  private let configuration: Configuration
  private let source: any AppUpdateSource
  private let clock: AppUpdateClock
  private let file: UpdateMemoryFile
  private nonisolated let delivery: UpdateDelivery
  private var state: UpdateCheckState
  /// Whether the last save failed; the next event saves again.
  private var isUnsaved = false
  /// The checks in progress; a caller that requests the same check waits for its result.
  private var checks: [CheckKey: Task<UpdateDecision, Never>] = [:]

  private struct CheckKey: Hashable {
    let account: AccountID?
    let caching: LookupCachePolicy
  }

  /// Runs the checker on its own queue.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  /// Creates a checker.
  ///
  /// Blocks the thread while it reads the saved state. Observers are called on `queue`, or on a
  /// private queue for nil. Throws `usage` if the folder is not a file URL, or the store link does
  /// not lead to a store or a web page, `insecureConnectionRefused` if this link is insecure, and
  /// file errors if the folder cannot be created or the saved state cannot be read. If the saved
  /// state is invalid, it is reset, and the first observer gets `updateMemoryDamaged`.
  public init(
    _ configuration: Configuration, source: any AppUpdateSource,
    deliveringOn queue: DispatchQueue? = nil
  ) throws {
    try self.init(
      configuration, source: source, deliveringOn: queue, clock: AppUpdateClock(),
      fileSystem: .real)
  }

  init(
    _ configuration: Configuration, source: any AppUpdateSource,
    deliveringOn queue: DispatchQueue? = nil, clock: AppUpdateClock, fileSystem: FileSystem
  ) throws {
    self.configuration = configuration
    self.source = source
    self.clock = clock
    // Before the state is read: if this throws, the next checker reports a damaged state.
    let storeLink = DownloadLink(configuration.storeURL)
    if storeLink == nil, let url = configuration.storeURL {
      throw ContentError(
        .usage, "“\(url.absoluteString.printable(limit: 200))” is not a link to a store or page",
        remedy: "Use an https URL, or one with the scheme of a store", subject: url.absoluteString)
    }
    let storeURL = try storeLink?.permitted(itmsServices: configuration.policy.allowsITMSServices)
    file = try UpdateMemoryFile(
      folder: configuration.folder.filePath(of: "checker's folder"), fileSystem: fileSystem)
    let (memory, damage) = try file.load()
    var early: [AppUpdateEvent] = damage.map { [.failed($0)] } ?? []
    var state = UpdateCheckState(
      memory: memory, installed: configuration.app, policy: configuration.policy,
      checkInterval: configuration.checkInterval.inSeconds, pushTypes: configuration.pushTypes,
      storeURL: storeURL)
    // A launch only closes the gate, or removes a requirement that is met. Everything else waits
    // for events.
    for case .closeGate(let decision) in state.apply(.launched, at: clock.now()) {
      gate.close(decision)
      early.append(.gateClosed(decision))
    }
    self.state = state
    delivery = UpdateDelivery(on: queue, early)
  }

  // MARK: Events

  /// Call it when the app enters the foreground.
  ///
  /// Presents a forced update again, and checks if the interval is over. Returns the current
  /// decision, at once if its task is canceled. If the check fails, observers get the error, and a
  /// forced update stays forced.
  @discardableResult
  public func enterForeground() async -> UpdateDecision {
    await take(.foreground(ignoresInterval: false))
  }

  /// Checks now with a request, regardless of the interval.
  ///
  /// `bypassesCDN` also bypasses caches between this app and the server, which may be hours old. If
  /// its task is canceled, it returns the current decision at once. The check continues for other
  /// callers.
  @discardableResult
  public func check(bypassesCDN: Bool = false) async -> UpdateDecision {
    let caching: LookupCachePolicy = bypassesCDN ? .reloadIgnoringAllCaches : .reload
    return await take(.foreground(ignoresInterval: true), caching)
  }

  /// Call it after an account has logged in.
  ///
  /// `answer` is from the server's reply, if it has one. The answer is authoritative for this
  /// account, and can also withdraw an update that the server forced. Without it, nothing is
  /// requested, but the next foreground checks if the account is another one. Throws `queryInvalid`
  /// if the account has more than 1,024 bytes.
  @discardableResult
  public func logIn(account: AccountID, answer: AppVersionAnswer? = nil) async throws
    -> UpdateDecision
  {
    guard account.rawValue.utf8.count <= 1024 else {
      throw ContentError(
        .queryInvalid, "The account has \(account.rawValue.utf8.count) bytes, more than 1024",
        remedy: "Use the account's identifier")
    }
    return await take(.loggedIn(account: account, answer))
  }

  /// Call it after the logout.
  ///
  /// Until the next login, pushes are ignored, and the gate is closed if an update is forced for
  /// any account.
  public func logOut() async { _ = await take(.loggedOut) }

  /// Call it when a push arrives.
  ///
  /// It does not interrupt the user: the gate closes, and the prompt comes at the next foreground.
  @discardableResult
  public func receive(_ push: UpdatePush) async -> PushOutcome {
    let effects = apply(.pushed(push))
    for case .handledPush(let outcome) in effects { return outcome }
    return .ignored(.otherType)
  }

  /// Call it with the user's choice.
  ///
  /// Skipping is recorded, except for a forced update. Other choices change nothing.
  public func choose(_ choice: UpdatePrompt.Choice, in prompt: UpdatePrompt) async {
    guard choice == .skip, prompt.decision.allowsSkip, let version = prompt.decision.offered
    else { return }
    _ = await take(.skipped(version))
  }

  /// Replaces the rules, for example with a minimum from a remote configuration, and checks.
  ///
  /// The check may be answered from the cache. The policy is not saved: the next start uses the
  /// policy in its configuration.
  @discardableResult
  public func setPolicy(_ policy: AppUpdatePolicy) async -> UpdateDecision {
    await take(.policyChanged(policy))
  }

  /// Forgets skipped versions, reminders and the highest offered versions.
  ///
  /// A forced update stays.
  public func resetHistory() async { _ = await take(.forgotten) }

  // MARK: Observers

  /// Adds an observer with a weak reference.
  ///
  /// The first observer or stream also gets the last 32 events before it.
  public nonisolated func add(_ observer: any AppUpdateObserver) {
    delivery.add(observer, of: self)
  }

  /// Removes an observer.
  ///
  /// It gets no calls after the current one.
  public nonisolated func remove(_ observer: any AppUpdateObserver) { delivery.remove(observer) }

  /// Returns a new stream of all events from now on.
  ///
  /// The first observer or stream also gets the last 32 events before it. Events are kept until
  /// they are read. The stream ends when the checker is released.
  public nonisolated func events() -> AsyncStream<AppUpdateEvent> { delivery.stream() }

  // MARK: Effects

  /// Applies an event, performs its effects, and returns the decision.
  private func take(
    _ event: UpdateCheckState.Event, _ caching: LookupCachePolicy = .useCache
  ) async -> UpdateDecision {
    let effects = apply(event)
    if effects.contains(.look) { return await result(of: runningCheck(caching)) }
    for case .decided(let decision) in effects.reversed() { return decision }
    return state.decision(otherwise: .serverDidNotAnswer)
  }

  /// Waits for a check, or until the caller's task is canceled.
  private func result(of check: Task<UpdateDecision, Never>) async -> UpdateDecision {
    let (results, result) = AsyncStream.makeStream(of: UpdateDecision.self)
    Task { result.yield(await check.value) }
    for await decision in results { return decision }
    return state.decision(otherwise: .cancelled)
  }

  /// Performs all effects except a check; not suspended, so that two events do not interleave.
  private func apply(_ event: UpdateCheckState.Event) -> [UpdateCheckState.Effect] {
    let effects = state.apply(event, at: clock.now())
    if isUnsaved, !effects.contains(.save) { perform(.save) }
    for effect in effects { perform(effect) }
    return effects
  }

  private func perform(_ effect: UpdateCheckState.Effect) {
    switch effect {
    case .save:
      do {
        try file.save(state.memory)
        isUnsaved = false
      } catch {
        isUnsaved = true
        let failure = ContentError(error, while: "saving the state of app updates")
        delivery.deliver(.failed(failure), of: self)
      }
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

  private func runningCheck(_ caching: LookupCachePolicy) -> Task<UpdateDecision, Never> {
    let account = state.memory.account
    let key = CheckKey(account: account, caching: caching)
    if let check = checks[key] { return check }
    let statements = state.serverStatements
    let task = Task { [source, app = configuration.app] in
      let event: UpdateCheckState.Event
      do {
        let offer = try await source.newestOffer(for: app, account: account, caching: caching)
        event = .looked(offer, account: account, statements: statements)
      } catch {
        event = .lookFailed(ContentError(error, while: "checking for a newer version of the app"))
      }
      checks[key] = nil
      return await take(event, caching)
    }
    checks[key] = task
    return task
  }
}

/// Runs an actor on a queue, because saving its state blocks a thread.
private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "hostedcontent.app-update.state")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// The clock of lookups and checks; tests can replace it.
struct AppUpdateClock: Sendable {
  var now: @Sendable () -> Date = { Date() }
  /// Waits for a number of seconds; throws if its task is canceled.
  var sleep: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }
}

/// Delivers events to observers and streams in order, on a queue of the caller's choice.
private final class UpdateDelivery: Sendable {
  /// The maximum number of events that wait for a first observer.
  ///
  /// Older ones are dropped.
  private static let backlogLimit = 32

  private let queue: DispatchQueue
  private let observers = ObserverList<any AppUpdateObserver>()
  private let streams = OpenStreams<AppUpdateEvent>()
  /// Events from before the first observer, such as a damaged state; nil after it was added.
  private let backlog: Mutex<[AppUpdateEvent]?>

  /// Creates a private serial queue with `target`; `early` events wait for the first observer.
  init(on target: DispatchQueue?, _ early: [AppUpdateEvent]) {
    backlog = Mutex(early)
    queue = DispatchQueue(label: "hostedcontent.app-update", target: target)
  }

  deinit { streams.finish() }

  // Only work on `queue` keeps an event for the first observer or stream, takes the waiting events,
  // and delivers. So all events stay in order.

  func add(_ observer: any AppUpdateObserver, of checker: AppUpdateChecker) {
    guard observers.add(observer) else { return }
    queue.async { [self, weak observer] in
      // An observer that was removed or released leaves the events to the next one.
      guard let observer, observers.contains(observer) else { return }
      for event in takeBacklog() where observers.contains(observer) {
        observer.take(event, of: checker)
      }
    }
  }

  func remove(_ observer: any AppUpdateObserver) { observers.remove(observer) }

  /// Returns a stream of the waiting events and all later events.
  func stream() -> AsyncStream<AppUpdateEvent> {
    AsyncStream { continuation in
      let hasEnded = Atomic(false)
      streams.add(continuation) { hasEnded.store(true, ordering: .releasing) }
      queue.async { [self] in
        // A stream that ended at once leaves the events to the next observer or stream.
        guard !hasEnded.load(ordering: .acquiring) else { return }
        for event in takeBacklog() { continuation.yield(event) }
      }
    }
  }

  /// Delivers an event to all observers, or keeps it for the first one; returns before that.
  func deliver(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    queue.async { [self] in
      let isKept = backlog.withLock { backlog in
        guard let count = backlog?.count else { return false }
        if count >= Self.backlogLimit { backlog?.removeFirst() }
        backlog?.append(event)
        return true
      }
      guard !isKept else { return }
      streams.yield(event)
      observers.forEach { $0.take(event, of: checker) }
    }
  }

  /// Returns the waiting events; later events are not kept.
  private func takeBacklog() -> [AppUpdateEvent] {
    backlog.withLock { backlog in
      defer { backlog = nil }
      return backlog ?? []
    }
  }
}

extension AppUpdateObserver {
  fileprivate func take(_ event: AppUpdateEvent, of checker: AppUpdateChecker) {
    switch event {
    case .prompt(let prompt): appUpdateChecker(checker, shouldPresent: prompt)
    case .decided(let decision): appUpdateChecker(checker, didDecide: decision)
    case .gateClosed(let decision): appUpdateChecker(checker, didCloseGate: decision)
    case .gateOpened: appUpdateCheckerDidOpenGate(checker)
    case .failed(let error): appUpdateChecker(checker, didFailWith: error)
    }
  }
}

public import ContentModel
import Locks

/// Looks for newer versions of what is installed: on demand, on a schedule, and when told to.
///
/// A new version arrives beside the one in use. May be used from any thread.
public final class UpdateMonitor: Sendable {
  /// What is done about a newer version.
  public enum Policy: String, Codable, Sendable, CaseIterable {
    /// It is downloaded and becomes current.
    case automatic
    /// It is only told.
    case notifyOnly
    /// It is downloaded and waits for `PaymentQueue.use(_:of:)`.
    case downloadOnly
  }

  /// What a look found and did.
  public struct Check: Sendable {
    /// Newer versions that the store offers.
    public let updates: [ContentUpdate]
    /// Contents of which the store offers only older versions than are installed.
    public let downgrades: [ContentDowngrade]
    /// Updates that were brought in.
    public internal(set) var installed: [ContentUpdate] = []
    /// Updates that could not be brought in, with the reasons; the others were not affected.
    public internal(set) var failures: [(update: ContentUpdate, error: ContentError)] = []
  }

  private let queue: PaymentQueue
  private let policy: Policy
  private let sleep: @Sendable (Duration) async throws -> Void
  private let state = Mutex(State())

  private struct State {
    var schedule: Task<Void, Never>?
    /// The look that was asked for last; the next one begins after it.
    var last: Task<Check, any Error>?
  }

  /// Creates a monitor of a queue, which it keeps.
  public convenience init(_ queue: PaymentQueue, policy: Policy) {
    self.init(queue, policy: policy, sleep: { try await Task.sleep(for: $0) })
  }

  /// `sleep` waits for the schedule; tests hand in their own.
  package init(
    _ queue: PaymentQueue, policy: Policy,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.queue = queue
    self.policy = policy
    self.sleep = sleep
  }

  deinit { stop() }

  // MARK: When

  /// Looks now and then every `interval`, and each time the seller says that content may have
  /// changed; `report` gets what was found, or the error that kept it from being found.
  public func start(
    every interval: Duration, report: @escaping @Sendable (Result<Check, ContentError>) -> Void
  ) {
    stop()
    let (wishes, wish) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    queue.delivery.onContentPublished {
      if case .terminated = wish.yield() { false } else { true }
    }
    wish.yield()
    let timer = Task { [sleep] in
      while (try? await sleep(interval)) != nil, !Task.isCancelled { wish.yield() }
    }
    let schedule = Task { [weak self] in
      for await _ in wishes {
        guard let self else { break }
        do {
          report(.success(try await self.check()))
        } catch {
          // Stopped, it has found nothing, and nothing kept it from that.
          guard !Task.isCancelled else { break }
          report(.failure(ContentError(error, while: "looking for updates")))
        }
      }
      timer.cancel()
    }
    // Another one may have been started meanwhile; the last one stays.
    let other = state.withLock { state in
      defer { state.schedule = schedule }
      return state.schedule
    }
    other?.cancel()
  }

  /// Ends the schedule; an update that is under way is cancelled, and goes on with a later look.
  public func stop() {
    let schedule = state.withLock { state in
      defer { state.schedule = nil }
      return state.schedule
    }
    schedule?.cancel()
  }

  // MARK: What

  /// Looks once and does what the policy says; returns when that is done.
  ///
  /// Throws when the catalogue is not to be had. One look at a time: a second one waits.
  @discardableResult
  public func check() async throws -> Check {
    let task = state.withLock { state in
      let previous = state.last
      let task = Task {
        _ = try? await previous?.value
        try Task.checkCancellation()
        return try await look()
      }
      state.last = task
      return task
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func look() async throws -> Check {
    let comparison = try await queue.compareWithCatalogue()
    var check = Check(updates: comparison.updates, downgrades: comparison.downgrades)
    guard policy != .notifyOnly else { return check }
    for update in comparison.updates {
      do {
        _ = try await queue.deliver(update, switching: policy == .automatic)
        check.installed.append(update)
      } catch let error as ContentError {
        check.failures.append((update, error))
      }
    }
    return check
  }
}

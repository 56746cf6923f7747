public import ContentModel
import Concurrency

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
    /// Whether a check is in progress.
    var isChecking = false
    /// Checks that wait for it, in their order.
    var waiting: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    var lastNumber = 0
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
  /// Throws when the catalog is not to be had. One check at a time: a second one waits, and throws
  /// `CancellationError` at once if its task is cancelled.
  @discardableResult
  public func check() async throws -> Check {
    try await waitForTurn()
    defer { endTurn() }
    return try await look()
  }

  private func waitForTurn() async throws {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          guard state.isChecking else {
            state.isChecking = true
            return .success(())
          }
          state.waiting.append((number, continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let cancelled = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      cancelled?.continuation.resume(throwing: CancellationError())
    }
  }

  private func endTurn() {
    let next = state.withLock { state in
      state.isChecking = !state.waiting.isEmpty
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    next?.continuation.resume()
  }

  private func look() async throws -> Check {
    let comparison = try await queue.compareWithCatalog()
    var check = Check(updates: comparison.updates, downgrades: comparison.downgrades)
    guard policy != .notifyOnly else { return check }
    for (update, result) in zip(comparison.updates, await install(comparison.updates)) {
      do {
        try result.get()
        check.installed.append(update)
      } catch let error as ContentError {
        check.failures.append((update, error))
      }
    }
    return check
  }

  /// Installs updates, and returns the result of each.
  private func install(_ updates: [ContentUpdate]) async -> [Result<Void, any Error>] {
    let (queue, switching) = (queue, policy == .automatic)
    // While one update is journaled, another one's download must be there to begin.
    let limit = 2 * queue.configuration.maximumActiveDownloads + 2
    return await withTaskGroup(of: (Int, Result<Void, any Error>).self) { group in
      var results = [Result<Void, any Error>](
        repeating: .failure(CancellationError()), count: updates.count)
      var inProgress = 0
      for (number, update) in updates.enumerated() {
        if inProgress == limit, let (ended, result) = await group.next() {
          results[ended] = result
          inProgress -= 1
        }
        if Task.isCancelled { break }
        inProgress += 1
        group.addTask {
          do {
            _ = try await queue.deliver(update, switching: switching)
            return (number, .success(()))
          } catch {
            return (number, .failure(error))
          }
        }
      }
      for await (ended, result) in group { results[ended] = result }
      return results
    }
  }
}

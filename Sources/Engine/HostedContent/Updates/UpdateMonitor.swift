public import ContentModel
import Concurrency

/// Checks for updates of installed content, once or as a sequence of checks.
///
/// ```swift
/// for await result in UpdateMonitor(queue, policy: .automatic, interval: .seconds(3600)) {
///   print(result)
/// }
/// ```
///
/// The sequence checks at once, after each interval, and when the seller reports that content was
/// published. It ends when its task is cancelled or the queue is closed. A new version is installed
/// beside the current one. A version that the store has withdrawn counts as older than every
/// offered version. May be used from any thread.
public final class UpdateMonitor: AsyncSequence, Sendable {
  /// What to do with a newer version.
  public enum Policy: String, Codable, Sendable, CaseIterable {
    /// Download it and make it current.
    case automatic
    /// Report it only.
    case notifyOnly
    /// Download it; `PaymentQueue.use(_:of:)` makes it current.
    case downloadOnly
  }

  /// The result of a check.
  public struct Check: Sendable {
    /// Newer versions that the store offers, and those that replace a withdrawn version.
    public let updates: [ContentUpdate]
    /// Contents of which the store offers only older versions than the installed one.
    public let downgrades: [ContentDowngrade]
    /// Updates that were installed.
    public internal(set) var installed: [ContentUpdate] = []
    /// Updates that failed, with the reasons; the others are not affected.
    public internal(set) var failures: [(update: ContentUpdate, error: ContentError)] = []
  }

  private let queue: PaymentQueue
  private let policy: Policy
  private let interval: Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  /// Whether a check is in progress.
  private let isChecking = Atomic(false)
  /// Streams of waiting checks, which get an element at the end of a check.
  private let waiting = OpenStreams<Void>()

  /// Creates a monitor, which retains the queue.
  ///
  /// `interval` is the time between two checks of the sequence, one day by default.
  public convenience init(
    _ queue: PaymentQueue, policy: Policy, interval: Duration = .seconds(86_400)
  ) {
    self.init(queue, policy: policy, interval: interval) { try await Task.sleep(for: $0) }
  }

  /// `sleep` waits for an interval; tests replace it.
  package init(
    _ queue: PaymentQueue, policy: Policy, interval: Duration,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.queue = queue
    self.policy = policy
    self.interval = interval
    self.sleep = sleep
  }

  // MARK: The sequence

  /// Runs a check for each requested result.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let monitor: UpdateMonitor
    fileprivate var wakeups: AsyncStream<Void>.Iterator

    /// Waits for the next check and runs it; returns nil at the end of the sequence.
    ///
    /// A failed check is a result, too; the next one may succeed.
    public mutating func next() async -> Result<Check, ContentError>? {
      guard await wakeups.next() != nil else { return nil }
      do {
        return .success(try await monitor.check())
      } catch {
        if Task.isCancelled || !monitor.queue.canMakePayments { return nil }
        return .failure(ContentError(error, while: "looking for updates"))
      }
    }
  }

  /// Starts a sequence of checks.
  public func makeAsyncIterator() -> AsyncIterator {
    let (wakeups, sender) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    sender.yield()
    let timer = Task { [sleep, interval] in
      while (try? await sleep(interval)) != nil, !Task.isCancelled { sender.yield() }
    }
    queue.delivery.publications.add(sender) { timer.cancel() }
    return AsyncIterator(monitor: self, wakeups: wakeups.makeAsyncIterator())
  }

  // MARK: One check

  /// Checks once, and installs updates as the policy says.
  ///
  /// Throws if the catalog cannot be read. Only one check runs at a time: a second one waits, and
  /// throws `CancellationError` at once if its task is cancelled.
  @discardableResult
  public func check() async throws -> Check {
    try await waitForTurn()
    defer { endTurn() }
    return try await look()
  }

  private func waitForTurn() async throws {
    while true {
      try Task.checkCancellation()
      let (ends, sender) = AsyncStream.makeStream(of: Void.self)
      // Before the test, so that no end is missed.
      waiting.add(sender)
      if !isChecking.exchange(true, ordering: .acquiring) { return sender.finish() }
      for await _ in ends { break }
    }
  }

  private func endTurn() {
    isChecking.store(false, ordering: .releasing)
    waiting.yield(())
  }

  private func look() async throws -> Check {
    let comparison = try await queue.compareWithCatalog()
    var check = Check(updates: comparison.updates, downgrades: comparison.downgrades)
    guard policy != .notifyOnly else { return check }
    let wanted = policy == .downloadOnly ? comparison.downloads : comparison.updates
    for (update, result) in zip(wanted, await install(wanted)) {
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
    // While one update is journaled, the download of another must be ready to start.
    let limit = 2 * queue.configuration.maximumActiveDownloads + 2
    return await concurrently(updates, limit: limit) { update in
      do {
        try Task.checkCancellation()
        _ = try await queue.deliver(update, switching: switching)
        return .success(())
      } catch {
        return .failure(error)
      }
    }
  }
}

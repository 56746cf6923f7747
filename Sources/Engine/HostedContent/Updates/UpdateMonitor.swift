import HostedConcurrency

/// Checks for updates of installed content, once or as a sequence of checks.
///
/// ```swift
/// for await result in UpdateMonitor(queue, policy: .automatic, interval: .seconds(3600)) {
///   print(result)
/// }
/// ```
///
/// The sequence checks at once, after each interval, and when the service reports that content was
/// published. It ends when its task is cancelled or the queue is closed. A new version is installed
/// beside the current one. A version that the store has withdrawn counts as older than every
/// offered version. May be used from any thread.
public final class UpdateMonitor: AsyncSequence, Sendable {
  /// What to do with a newer version.
  public enum Policy: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
    /// Download it and make it current.
    case automatic
    /// Report it only.
    case notifyOnly
    /// Download it; `PaymentQueue.use(_:of:)` makes it current.
    case downloadOnly
  }

  /// The result of a check.
  public struct Check: Sendable, CustomStringConvertible {
    /// Newer versions that the store offers, and those that replace a withdrawn version.
    public let updates: [ContentUpdate]
    /// Contents of which the store offers only older versions than the installed one.
    public let downgrades: [ContentDowngrade]
    /// Updates that were installed.
    public internal(set) var installed: [ContentUpdate] = []
    /// Updates that failed, with the reasons; the others are not affected.
    public internal(set) var failures: [Failure] = []

    /// An update that failed.
    public struct Failure: Sendable, CustomStringConvertible {
      /// The update.
      public let update: ContentUpdate
      /// The reason.
      public let error: ContentError

      /// The update and the reason.
      public var description: String { "\(update): \(error)" }
    }

    /// The updates and downgrades, and what was installed or failed.
    public var description: String {
      "updates: \(updates); downgrades: \(downgrades); installed: \(installed); "
        + "failures: \(failures)"
    }
  }

  private let queue: PaymentQueue
  private let policy: Policy
  private let interval: Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  /// The turns of the running check and of those that wait, in order.
  private let turns = Mutex<[Turn]>([])
  /// Gets an element when a check may run.
  private typealias Turn = AsyncStream<Void>.Continuation

  /// Creates a monitor, which retains the queue.
  ///
  /// `interval` is the time between two checks of the sequence, one day by default, and at least a
  /// second.
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
    // Without a pause, the timer would keep a processor busy. A clock cannot add every duration.
    self.interval = Swift.min(Swift.max(interval, .seconds(1)), .seconds(Int32.max))
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
  /// Throws if the catalog cannot be read, or the queue is closed. Only one check runs at a time: a
  /// second one waits, and throws `CancellationError` at once if its task is cancelled.
  @discardableResult
  public func check() async throws -> Check {
    let turn = try await waitForTurn()
    defer { end(turn) }
    let comparison = try await queue.compareWithCatalog()
    var check = Check(updates: comparison.updates, downgrades: comparison.downgrades)
    guard policy != .notifyOnly else { return check }
    let wanted = policy == .downloadOnly ? comparison.downloads : comparison.updates
    for (update, result) in zip(wanted, await install(wanted)) {
      do {
        try result.get()
        check.installed.append(update)
      } catch let error as ContentError {
        check.failures.append(Check.Failure(update: update, error: error))
      }
    }
    return check
  }

  private func waitForTurn() async throws -> Turn {
    try Task.checkCancellation()
    let (begins, turn) = AsyncStream.makeStream(of: Void.self)
    let isFirst = turns.withLock { turns in
      turns.append(turn)
      return turns.count == 1
    }
    if isFirst { return turn }
    for await _ in begins { return turn }
    // The task is cancelled; it may have got its turn meanwhile.
    end(turn)
    throw CancellationError()
  }

  private func end(_ turn: Turn) {
    let next = turns.withLock { turns in
      let wasFirst = turns.first == turn
      turns.removeAll { $0 == turn }
      return wasFirst ? turns.first : nil
    }
    next?.yield()
  }

  private func install(_ updates: [ContentUpdate]) async -> [Result<Void, any Error>] {
    let (queue, switching) = (queue, policy == .automatic)
    // While one update is journaled, the download of another must be ready to start.
    let limit = 2 * queue.configuration.activeLimit + 2
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

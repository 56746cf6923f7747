import HostedConcurrency
import HostedModel
import FoundationEssentials
import Glibc
import HostedShop

/// Commits the changes of concurrent requests together, on one thread.
///
/// Thread-safe. Completions are called on that thread, after the commit is durable or has failed.
final class CommitQueue: Sendable {
  /// Gets one result for each change, in the same order.
  typealias Completion = @Sendable ([Shop.SaleResult]) -> Void

  private struct Entry: Sendable {
    let changes: [LedgerChange]
    let completion: Completion
  }

  /// How long the queue waits after a commit of at least `busyCount` entries, in microseconds.
  ///
  /// On a fast disk, few others would share the next sync. `commit_delay` of PostgreSQL is alike.
  private static let commitDelay: UInt32 = 200
  private static let busyCount = 5

  /// The maximum number of changes in one commit.
  private static let maximumChanges = 256

  private let entries: BlockingQueue<Entry>
  private let thread: Serialized<WorkThread?>

  /// Starts the thread; throws `tooFewThreads` if the system does not allow one.
  ///
  /// `onCommit` is called after each commit that changed the ledger, and `report` with the error of
  /// each failed one.
  init(
    _ ledger: Ledger, now: @escaping @Sendable () -> Date,
    report: @escaping @Sendable (ContentError) -> Void, onCommit: @escaping @Sendable () -> Void
  ) throws {
    let entries = BlockingQueue<Entry>()
    self.entries = entries
    thread = Serialized(
      try WorkThread("the thread that writes the ledger") {
        var isBusy = false
        while true {
          if isBusy { usleep(CommitQueue.commitDelay) }
          let waiting = entries.takeAll()
          guard !waiting.isEmpty else { return }
          isBusy = waiting.count >= CommitQueue.busyCount
          for group in CommitQueue.groups(waiting) {
            if CommitQueue.commit(group, to: ledger, at: now(), report) { onCommit() }
          }
        }
      })
  }

  deinit { close() }

  /// Adds changes that are made in one commit.
  func add(_ changes: [LedgerChange], completion: @escaping Completion) {
    guard !entries.add(Entry(changes: changes, completion: completion)) else { return }
    let stopped = ContentError(
      .stopped, "The server stops", remedy: "Repeat the request later")
    completion(changes.map { _ in .failure(.commitFailed(stopped)) })
  }

  /// Makes the changes that were added before, and ends the thread.
  func close() {
    entries.close()
    thread.use { thread in
      thread?.end()
      thread = nil
    }
  }

  /// Splits entries into commits.
  private static func groups(_ waiting: [Entry]) -> [[Entry]] {
    var groups: [[Entry]] = [[]]
    var count = 0
    for entry in waiting {
      count += entry.changes.count
      if count > maximumChanges {
        groups.append([])
        count = entry.changes.count
      }
      groups[groups.count - 1].append(entry)
    }
    return groups
  }

  /// Returns whether the ledger was changed.
  private static func commit(
    _ group: [Entry], to ledger: Ledger, at date: Date, _ report: (ContentError) -> Void
  ) -> Bool {
    let changes = group.flatMap(\.changes)
    let results = ledger.results(of: changes, at: date)
    // Reported once, not for each change.
    if case .failure(.commitFailed(let failure))? = results.first { report(failure) }
    var rest = results[...]
    for entry in group {
      entry.completion(Array(rest.prefix(entry.changes.count)))
      rest = rest.dropFirst(entry.changes.count)
    }
    return results.contains { (try? $0.get())?.isRepeated == false }
  }
}

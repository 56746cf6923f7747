import HostedModel
import Dispatch

/// Pending notifications and their due times; combines notifications into calls.
///
/// Notifications of one transaction keep their order. Those of different transactions do not, so
/// changes of a thousand downloads can share calls, whatever else is reported meanwhile.
struct Outbox {
  /// A pending notification.
  enum Notification {
    case transactions([TransactionRecord])
    case changes(WaitingReports)
    case removed([TransactionRecord])
    /// Any other call; it keeps its place between earlier and later notifications.
    case calls([@Sendable () -> Void])
  }

  private struct Entry {
    var notification: Notification
    /// The transactions that it is about; nil for all, or for too many to compare.
    var ids: Set<String>?
    var due: DispatchTime

    func overlaps(_ others: Set<String>?) -> Bool {
      guard let ids, let others else { return true }
      return !ids.isDisjoint(with: others)
    }
  }

  /// The maximum number of transactions of a notification that are compared with those of others.
  private static let comparedIDs = 256

  private var entries: [Entry] = []

  /// When the next notification is due; nil if none is pending.
  private(set) var nextDue: DispatchTime?

  /// Adds a notification that is due at `due`.
  ///
  /// `ids` are the transactions it is about; calls without any are about all.
  mutating func put(
    _ notification: Notification, of ids: some Collection<String>, due: DispatchTime
  ) {
    nextDue = min(nextDue ?? due, due)
    let isAboutAll = if case .calls = notification { ids.isEmpty } else { false }
    let compared: Set<String>? =
      isAboutAll || ids.count > Self.comparedIDs ? nil : Set(ids)
    for index in entries.indices.reversed() {
      let overlaps = entries[index].overlaps(compared)
      if !overlaps || !notification.needsOwnCall,
        entries[index].notification.append(notification)
      {
        if let compared {
          entries[index].ids?.formUnion(compared)
        } else {
          entries[index].ids = nil
        }
        entries[index].due = min(entries[index].due, due)
        return
      }
      if overlaps { break }
    }
    entries.append(Entry(notification: notification, ids: compared, due: due))
  }

  /// Removes and returns what is due at `now`, and what must be delivered before it.
  mutating func take(at now: DispatchTime) -> [Notification] {
    var going: [Entry] = []
    var staying: [Entry] = []
    for entry in entries.reversed() {
      if entry.due <= now || going.contains(where: { $0.overlaps(entry.ids) }) {
        going.append(entry)
      } else {
        staying.append(entry)
      }
    }
    entries = staying.reversed()
    nextDue = entries.map(\.due).min()
    return going.reversed().map(\.notification)
  }
}

extension Outbox.Notification {
  /// Whether it reports changes of downloads, which may be delayed.
  var isChanges: Bool {
    if case .changes = self { true } else { false }
  }

  /// Whether two reports of one transaction need two calls; otherwise the first would be lost.
  fileprivate var needsOwnCall: Bool {
    switch self {
    case .transactions, .removed: true
    case .changes, .calls: false
    }
  }

  /// Appends a later notification of the same kind; returns false for one of another kind.
  fileprivate mutating func append(_ later: Self) -> Bool {
    let earlier = self
    // With `self` emptied, the payload is referenced once and changes in place without a copy.
    self = .calls([])
    switch (consume earlier, later) {
    case (.transactions(var records), .transactions(let others)):
      records += others
      self = .transactions(records)
    case (.changes(var reports), .changes(let others)):
      reports.append(others)
      self = .changes(reports)
    case (.removed(var records), .removed(let others)):
      records += others
      self = .removed(records)
    case (.calls(var bodies), .calls(let others)):
      bodies += others
      self = .calls(bodies)
    case (let unchanged, _):
      self = unchanged
      return false
    }
    return true
  }
}

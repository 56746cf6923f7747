import ContentModel
import Dispatch

/// What waits to be told, and until when: it decides which reports share a call and which go ahead.
///
/// What is told of one transaction never changes places. Between transactions there is no order to
/// keep, so that changes of a thousand downloads share their calls whatever else is told meanwhile.
struct Outbox {
  /// Something to be told.
  enum Notification {
    case transactions([TransactionRecord])
    case changes(WaitingReports)
    case removed([TransactionRecord])
    /// Anything else: what was told before it stays before, and what comes later after.
    case calls([@Sendable () -> Void])
  }

  private struct Entry {
    var notification: Notification
    var concern: Concern
    var due: DispatchTime
  }

  private var entries: [Entry] = []

  /// When the next notification is to be told; nil when none waits.
  private(set) var nextDue: DispatchTime?

  /// Puts a notification in, to be told at `due` at the latest; `ids` are the transactions it is
  /// about, and calls without any are about all.
  mutating func put(
    _ notification: Notification, of ids: some Collection<String>, due: DispatchTime
  ) {
    nextDue = min(nextDue ?? due, due)
    let concern = Concern(notification, ids)
    for index in entries.indices.reversed() {
      let meets = entries[index].concern.meets(concern)
      if entries[index].notification.isAlike(notification), !meets || !notification.keepsApart {
        entries[index].notification.append(notification)
        entries[index].concern.formUnion(concern)
        entries[index].due = min(entries[index].due, due)
        return
      }
      if meets { break }
    }
    entries.append(Entry(notification: notification, concern: concern, due: due))
  }

  /// Takes out what is due at `now`, and what must be told before that.
  mutating func take(at now: DispatchTime) -> [Notification] {
    var going: [Entry] = []
    var staying: [Entry] = []
    for entry in entries.reversed() {
      if entry.due <= now || going.contains(where: { $0.concern.meets(entry.concern) }) {
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

/// The transactions that a notification is about.
private enum Concern {
  case some(Set<String>)
  /// Everything, or too many to compare.
  case all

  private static let limit = 256

  init(_ notification: Outbox.Notification, _ ids: some Collection<String>) {
    if case .calls = notification, ids.isEmpty {
      self = .all
    } else {
      self = ids.count > Self.limit ? .all : .some(Set(ids))
    }
  }

  func meets(_ other: Concern) -> Bool {
    switch (self, other) {
    case (.some(let ids), .some(let others)): !ids.isDisjoint(with: others)
    case (.all, _), (_, .all): true
    }
  }

  mutating func formUnion(_ other: Concern) {
    guard case .some(var ids) = self, case .some(let others) = other else { return self = .all }
    // Alone, it is changed in place, however large it has become.
    self = .all
    ids.formUnion(others)
    self = .some(ids)
  }
}

extension Outbox.Notification {
  /// Whether it reports changes of downloads, which can wait.
  var isChanges: Bool {
    if case .changes = self { true } else { false }
  }

  /// Whether two reports of one transaction are two calls, since the first would not be seen.
  fileprivate var keepsApart: Bool {
    switch self {
    case .transactions, .removed: true
    case .changes, .calls: false
    }
  }

  fileprivate func isAlike(_ other: Self) -> Bool {
    switch (self, other) {
    case (.transactions, .transactions), (.changes, .changes), (.removed, .removed),
      (.calls, .calls):
      true
    case (.transactions, _), (.changes, _), (.removed, _), (.calls, _): false
    }
  }

  /// Takes up what is told after it, which is alike.
  fileprivate mutating func append(_ later: Self) {
    let earlier = self
    // Alone, each payload is changed in place, however long it has become.
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
    case (let unchanged, _): self = unchanged
    }
  }
}

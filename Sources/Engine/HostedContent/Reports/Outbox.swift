import Dispatch
import HostedConcurrency

/// Pending notifications and their due times; combines notifications into calls.
///
/// Notifications of one transaction keep their order. Those of different transactions do not, so
/// changes of a thousand downloads can share calls, whatever else is reported meanwhile.
struct Outbox {
  enum Notification {
    case transactions([TransactionRecord])
    case changes(WaitingReports)
    case removed([TransactionRecord])
    /// Any other call; it keeps its place between earlier and later notifications.
    case calls([@Sendable () -> Void])

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

  private struct Entry {
    var notification: Notification
    /// The transactions that it is about; nil for all, or for too many to compare.
    var ids: Set<TransactionID>?
    var due: DispatchTime

    func overlaps(_ others: Set<TransactionID>?) -> Bool {
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
    _ notification: Notification, of ids: some Collection<TransactionID>, due: DispatchTime
  ) {
    nextDue = min(nextDue ?? due, due)
    let isAboutAll = if case .calls = notification { ids.isEmpty } else { false }
    let compared: Set<TransactionID>? = isAboutAll || ids.count > Self.comparedIDs ? nil : Set(ids)
    for index in entries.indices.reversed() {
      let overlaps = entries[index].overlaps(compared)
      if !overlaps || !notification.needsOwnCall, entries[index].notification.append(notification) {
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

/// Delivers the notifications of an outbox on a serial queue when they are due.
final class OutboxLine: Sendable {
  private let target: any SerialLine
  private let now: @Sendable () -> DispatchTime
  private let state = Mutex(State())

  private struct State {
    var outbox = Outbox()
    /// The time of the scheduled delivery; nil if nothing is scheduled.
    var expected: DispatchTime?
    var pace = CallPace()

    /// Returns when to schedule a delivery; nil if one is scheduled early enough.
    mutating func expect() -> DispatchTime? {
      guard let time = outbox.nextDue, expected.map({ time < $0 }) ?? true else { return nil }
      expected = time
      return time
    }
  }

  /// `now` returns the time on the clock of `target`.
  init(on target: any SerialLine, now: @escaping @Sendable () -> DispatchTime) {
    self.target = target
    self.now = now
  }

  /// Adds a notification, and calls `notify` with it on the queue when it is due.
  ///
  /// Changes of downloads may be delayed.
  func send(
    _ notification: Outbox.Notification, of ids: some Collection<TransactionID>,
    notify: @escaping @Sendable (Outbox.Notification) -> Void
  ) {
    let time: DispatchTime? = state.withLock { state in
      let now = now()
      state.outbox.put(
        notification, of: ids, due: notification.isChanges ? state.pace.next(at: now) : now)
      return state.expect()
    }
    look(at: time, notify)
  }

  private func look(
    at time: DispatchTime?, _ notify: @escaping @Sendable (Outbox.Notification) -> Void
  ) {
    guard let time else { return }
    if time <= now() {
      target.enqueue { self.empty(notify) }
    } else {
      target.enqueue(at: time) { self.empty(notify) }
    }
  }

  /// Delivers what is due; called on the serial queue.
  private func empty(_ notify: @escaping @Sendable (Outbox.Notification) -> Void) {
    let (notifications, time) = state.withLock { state in
      let now = now()
      let notifications = state.outbox.take(at: now)
      if notifications.contains(where: \.isChanges) { state.pace.note(at: now) }
      state.expected = nil
      return (notifications, state.expect())
    }
    look(at: time, notify)
    notifications.forEach(notify)
  }
}

/// Limits the rate of calls about changed downloads; pure.
///
/// A burst of a few calls is allowed, enough for the life of one download, so that the report of
/// its end does not wait because its start was just reported. After that, calls are paced and
/// reports share them.
struct CallPace {
  /// The number of calls allowed in a burst.
  static let atOnce = 8
  /// The time between paced calls, in seconds.
  static let pause = 0.02

  /// On the clock of `DispatchTime`.
  private var schedule = RateSchedule(
    rate: 1 / Self.pause, burst: Double(Self.atOnce - 1) * Self.pause, at: -1)

  /// Returns the time of the next call, now or later.
  func next(at now: DispatchTime) -> DispatchTime {
    now + .nanoseconds(Int((schedule.wait(at: now.seconds) * 1e9).rounded()))
  }

  /// Records a call, whether on time or early.
  ///
  /// After any number of early calls, the next one waits at most one pause.
  mutating func note(at now: DispatchTime) {
    schedule.take(1, at: now.seconds, maximumWait: Self.pause)
  }
}

extension DispatchTime {
  fileprivate var seconds: Double { Double(uptimeNanoseconds) / 1e9 }
}

/// Pending reports about downloads, combined into few calls.
///
/// Every state of a transaction's downloads is reported, in order. Of its progress, only the newest
/// value is reported, together with a state. Different transactions are not ordered.
struct WaitingReports {
  struct Call {
    /// The transactions at the time of the report, and their changed downloads.
    var records: [TransactionRecord] = []
    var downloads: [DownloadID] = []
    /// The progress of downloads, of these or other transactions.
    var progress: [DownloadID: DownloadProgress] = [:]
  }

  private var reports: [Call]

  /// Creates a report of changed downloads; `records` are their transactions.
  init(_ downloads: [DownloadID], of records: [TransactionRecord]) {
    reports = [Call(records: records, downloads: downloads)]
  }

  init(progress: [DownloadID: DownloadProgress]) { reports = [Call(progress: progress)] }

  mutating func append(_ later: WaitingReports) {
    for report in later.reports {
      if report.records.isEmpty, let last = reports.indices.last {
        reports[last].progress.merge(report.progress) { $1 }
      } else {
        reports.append(report)
      }
    }
  }

  /// The reports in as few calls as show every state.
  ///
  /// The n-th call has the n-th state of each transaction.
  var calls: [Call] {
    // A single report is passed on unchanged; at launch, it may have 100,000 downloads.
    guard reports.count > 1 else { return reports }
    var calls: [Call] = []
    /// The newest call of each transaction, and whether it has a state yet.
    var newest: [TransactionID: (call: Int, hasState: Bool)] = [:]
    func change(_ transaction: TransactionID, isState: Bool, _ body: (inout Call) -> Void) {
      let last = newest[transaction] ?? (call: 0, hasState: false)
      let call = isState && last.hasState ? last.call + 1 : last.call
      newest[transaction] = (call, isState || last.hasState)
      if calls.count == call { calls.append(Call()) }
      body(&calls[call])
    }
    for report in reports {
      let downloads = Dictionary(grouping: report.downloads, by: \.transaction)
      for record in report.records {
        change(record.id, isState: true) {
          $0.records.append(record)
          $0.downloads += downloads[record.id] ?? []
        }
      }
      for (download, progress) in report.progress {
        change(download.transaction, isState: false) { $0.progress[download] = progress }
      }
    }
    return calls
  }
}

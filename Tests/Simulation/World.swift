import HostedModel
import HostedTransfer
import HostedFileIO
import Glibc

/// The environment of a simulated queue: next steps, faults and rules.
// Sendable, because only the scheduled thread uses it.
package final class World: @unchecked Sendable {
  let scheduler: Scheduler
  let choices: Choices
  let plan: Plan
  let store: SimulatedStore
  let trace: Trace
  private(set) var disk: SimulatedDisk
  private(set) var journal: SimulatedJournal
  var totals = Totals()
  /// The first broken rule.
  private(set) var violation: Violation?
  /// Whether no more faults occur, and everything must complete.
  var isHealing = false
  /// The number of steps until the process ends, or nil for no end.
  var stepsToLive: Int?
  var watch = FetchWatch()
  /// Returns whether an event is being decided or performed.
  var isEngineBusy: () -> Bool = { false }
  /// Whether the journal of this process has failed, so that the queue lacks some changes.
  private var hasJournalFailed = false
  /// The versions that were damaged manually.
  var damaged: Set<ContentKey> = []
  var damages = 0
  /// The transactions that were reported as failed.
  var failed: Set<TransactionID> = []
  /// The contents whose `current` was chosen manually.
  var chosenByHand: Set<ProductIdentifier> = []

  /// The error of calls after the end of the process.
  static let ended = ContentError(
    .fileFailed, "The simulated process has ended", remedy: "Start another process")

  static let libraryPath = "/srv/library"
  /// A schedule with more steps counts as endless.
  private static let stepLimit = 200_000

  init(_ scheduler: Scheduler, _ choices: Choices, _ store: SimulatedStore, _ trace: Trace) {
    self.scheduler = scheduler
    self.choices = choices
    self.store = store
    self.trace = trace
    plan = Plan(choices)
    scheduler.reset(choices)
    scheduler.switchRate = plan.switchRate
    disk = SimulatedDisk(
      capacity: plan.capacity,
      time: { [unowned scheduler] in
        1_700_000_000_000_000_000 + Int64(scheduler.now)
      })
    journal = SimulatedJournal(JournalTables(), nil)
    prepare()
    journal = SimulatedJournal(JournalTables(), self)
  }

  /// Creates other files next to the library, which must not change.
  private func prepare() {
    disk.isOrdered = plan.isOrderedDisk
    if let folder = try? disk.fileSystem.directory(at: "/srv", creating: true),
      let file = try? folder.createFile("neighbor")
    {
      try? file.write(Array("not ours".utf8))
    }
    disk.syncEverything()
    disk.director = self
  }

  var fileSystem: FileSystem { disk.fileSystem }

  // MARK: Steps

  /// Performs a step.
  ///
  /// Returns false if the process has ended.
  func step(_ name: @autoclosure () -> String) -> Bool {
    guard !scheduler.isDead else { return false }
    totals.steps += 1
    trace.note(scheduler.now, name)
    if totals.steps > Self.stepLimit {
      violate("the schedule does not end", "after \(totals.steps) steps")
      return false
    }
    if let left = stepsToLive {
      stepsToLive = left - 1
      if left <= 0 {
        crash()
        return false
      }
    }
    scheduler.step()
    return !scheduler.isDead
  }

  /// Ends the process, which loses everything that is not durable.
  private func crash() {
    stepsToLive = nil
    totals.crashes += 1
    trace.event("the process ends")
    scheduler.die()
  }

  /// Starts another process after the end of the last one.
  ///
  /// Call it on the main thread.
  ///
  /// After a kill, the disk has its visible state. After a power failure, it has its durable state.
  func restart(isKilled: Bool) {
    totals.restarts += 1
    watch.beginProcess()
    hasJournalFailed = false
    let isRecovered = isKilled && choices.pick(.crash, 2) == 1
    journal = SimulatedJournal(journal.afterKill(isRecovered: isRecovered), self)
    disk.closeAll()
    // A new process cannot detect lost pages, so it starts after a reboot.
    guard disk.hasLostPages || (isKilled && choices.pick(.crash, 4) != 3) else { return }
    totals.powerFailures += 1
    let old = disk
    disk = old.crashed(choices)
    disk.foreignBytes = old.foreignBytes
    disk.director = self
    watch.crash()
    checkEverything("after a power failure")
  }

  /// Records a broken rule.
  ///
  /// The first one ends the schedule.
  package func violate(_ rule: String, _ details: String) {
    guard violation == nil else { return }
    violation = Violation(rule: rule, details: details)
    trace.event("BROKEN: \(rule): \(details)")
    scheduler.die()
  }

  // MARK: Faults

  private func fails(oneIn rate: Int) -> Bool {
    !isHealing && totals.faultCount < plan.faultLimit && choices.happens(.fault, oneIn: rate)
  }

  /// Returns a fault, nil for no fault, or `.some(nil)` for a stall.
  func networkFault() -> TransferFault.Kind?? {
    guard fails(oneIn: plan.networkFaultRate) else { return nil }
    let number = choices.pick(.fault, SimulatedNetwork.faults.count + 4)
    guard number < SimulatedNetwork.faults.count else {
      totals.count("network stalled")
      trace.event("the network stalls")
      return .some(nil)
    }
    let fault = SimulatedNetwork.faults[number]
    totals.count("network \(TransferFault(fault).name)")
    trace.event("the network fails: \(TransferFault(fault).name)")
    return fault
  }

  func sellerFails() -> Bool {
    guard fails(oneIn: plan.sellerFaultRate) else { return false }
    totals.count("seller")
    trace.event("the seller fails")
    return true
  }
}

// MARK: -

extension World: DiskDirector {
  package func willCall(_ call: DiskCall, _ path: String) -> DiskFault? {
    guard step("\(call.rawValue) \(path)") else { return .fails(EIO) }
    if let download = Self.download(ofStaging: path) {
      scheduler.currentTag = download
      watch.note(download)
    }
    // Only a removal of the whole folder starts like this. It may be interrupted.
    if call == .stat { watch.discards(path) }
    guard fails(oneIn: plan.diskFaultRate) else { return nil }
    let fault = diskFault(call)
    if fault == .isShort {
      totals.count("disk short \(call.rawValue)")
      trace.event("a short \(call.rawValue) of \(path)")
    } else if case .fails(let number) = fault {
      totals.count("disk \(Self.names[number] ?? "?") \(call.rawValue)")
      trace.event("\(call.rawValue) \(path) fails: \(Self.names[number] ?? "?")")
      // A staged file that cannot be read is fetched again.
      if number == EIO, [.open, .read, .stat].contains(call),
        let download = Self.download(ofStaging: path)
      {
        watch.forget(download)
      }
    }
    return fault
  }

  private static let names: [Int32: String] = [
    EIO: "EIO", ENOSPC: "ENOSPC", EMFILE: "EMFILE", EINTR: "EINTR",
  ]

  private func diskFault(_ call: DiskCall) -> DiskFault {
    switch call {
    case .open: .fails([EIO, EMFILE, EINTR][choices.pick(.fault, 3)])
    case .create: .fails([EIO, ENOSPC, EMFILE, EINTR][choices.pick(.fault, 4)])
    case .mkdir, .symlink, .link, .rename: .fails([EIO, ENOSPC][choices.pick(.fault, 2)])
    case .read: [.fails(EIO), .fails(EINTR), .isShort][choices.pick(.fault, 3)]
    case .write: [.fails(EIO), .fails(ENOSPC), .fails(EINTR), .isShort][choices.pick(.fault, 4)]
    case .truncate: .fails([EIO, ENOSPC, EINTR][choices.pick(.fault, 3)])
    case .syncFile, .syncFolder, .syncfs: .fails([EIO, ENOSPC][choices.pick(.fault, 2)])
    case .list: .fails([EIO, EMFILE][choices.pick(.fault, 2)])
    case .stat, .statvfs, .readlink, .unlink, .chmod, .setxattr, .flock: .fails(EIO)
    }
  }

  package func losesPages() -> Bool {
    guard choices.pick(.disk, 2) == 1 else { return false }
    trace.event("pages are lost")
    return true
  }

  package func didFailToSync() {
    // Staging is not used again, since any of it may be lost.
    watch.forgetEverything()
  }

  /// Returns the download whose staging folder contains `path`.
  private static func download(ofStaging path: String) -> String? {
    let prefix = "\(libraryPath)/staging/"
    guard path.hasPrefix(prefix) else { return nil }
    return path.dropFirst(prefix.count).split(separator: "/").first.map(String.init)
  }

  /// Checks that a paused, cancelled or finished download is not worked on.
  func checkWanted() {
    // The name of a repair is a UUID, without the UUID of a transaction.
    guard !hasJournalFailed, !isEngineBusy(), let tag = scheduler.currentTag else { return }
    let id = DownloadID(rawValue: tag)
    guard id.number > 0, id.transaction.rawValue.utf8.count == 36 else { return }
    let record = journal.tables.transactions[id.transaction]
    switch record?.downloads.first(where: { $0.id == id })?.state {
    case .active: break
    case let state:
      violate("a stopped download continues", "\(id): \(state.map { "\($0)" } ?? "removed")")
    }
  }

  func willFetch(_ offset: Int64) {
    guard let download = scheduler.currentTag else { return }
    if !watch.mayFetch(offset, for: download) {
      violate("a verified piece is fetched again", "\(download) at \(offset)")
    }
  }

  func didFetch(_ offset: Int64) {
    if let download = scheduler.currentTag { watch.didFetch(offset, for: download) }
  }

  package func didChange(_ call: DiskCall, _ path: String) {
    if !path.hasPrefix(Self.libraryPath) {
      violate("a file outside of the library was changed", "\(call.rawValue) \(path)")
    }
    if call == .syncfs { watch.synced() }
    switch call {
    case .rename, .unlink, .link, .symlink, .create: checkVisible(path)
    default: break
    }
  }
}

extension World: JournalDirector {
  private func journalFault(_ name: String) throws {
    guard fails(oneIn: plan.journalFaultRate) else { return }
    let kind = choices.pick(.fault, 3)
    hasJournalFailed = true
    totals.count(["journal failed", "journal full", "journal uncertain"][kind])
    trace.event("the journal fails: \(name)")
    let error = ContentError(
      kind == 1 ? .diskFull : .journalFailed, "Cannot write the simulated journal",
      remedy: "Try again")
    if kind == 2 { throw UncertainCommit(error) }
    throw error
  }

  func willWrite(_ name: String) throws {
    guard step("journal: \(name)") else { throw Self.ended }
    try journalFault(name)
  }

  func didWrite(_ name: String) throws {
    guard step("journal: \(name) is durable") else { throw Self.ended }
  }

  func willRead() throws {
    guard !scheduler.isDead else { throw Self.ended }
  }
}

/// A rule that was broken.
package struct Violation: Hashable, Sendable {
  /// The rule, always in the same words.
  package let rule: String
  package let details: String
}

import HostedConcurrency
import HostedModel
import HostedFileIO
import FoundationEssentials
import HostedContent

/// A service that uses all features of the queue, in several processes.
// Sendable, because only the scheduled thread uses it.
final class SimulatedService: @unchecked Sendable {
  let world: World
  let seller: SimulatedSeller
  private let network: SimulatedNetwork
  let execution: SimulatedExecution
  private var queue: PaymentQueue?
  var observers: [SimulatedObserver] = []
  private var nextObserver = 1
  var restores: Set<RestoreID> = []
  var leases: [Lease] = []
  private var identifiers = 0
  /// The number of actions that observers may still perform in this process.
  var whimsLeft = 0
  /// The transactions that the process found unfinished, and those finished before it.
  private var known: Set<TransactionID> = []
  private var finished: Set<TransactionID> = []

  init(_ world: World) {
    self.world = world
    seller = SimulatedSeller(world)
    network = SimulatedNetwork(world)
    execution = SimulatedExecution(world.scheduler)
    world.isEngineBusy = { [execution] in execution.engine?.isBusy == true }
  }

  var choices: Choices { world.choices }
  var isOver: Bool { world.scheduler.isDead }

  // MARK: Processes

  /// Runs the schedule from the first start to the end of all downloads.
  func run() {
    for life in 1...world.plan.lives {
      if choices.pick(.crash, 4) > 0 {
        // Early and late ends are equally likely.
        world.stepsToLive = choices.pick(.crash, 8 << choices.pick(.crash, 10))
      }
      world.trace.event("process \(life) starts")
      live()
      guard world.violation == nil else { return }
    }
    heal()
    if world.violation != nil { unwind() }
  }

  private func live() {
    if open() {
      for _ in 0..<world.plan.actions where !isOver {
        pause()
        if !isOver { doAnything(on: nil, queue, from: nil) }
      }
      // Running work may continue for a while.
      for _ in 0..<choices.pick(.action, 4) where !isOver { pause() }
    }
    world.stepsToLive = nil
    end()
  }

  /// Lets other threads run for a while.
  private func pause() {
    world.scheduler.sleep([0.001, 0.01, 0.1, 1, 10, 100][choices.pick(.action, 6)])
  }

  /// Ends the process with a crash or normally.
  private func end() {
    let due = journaledReports
    // Everything that is journaled by now must be reported. Later changes may not be, since the
    // queue is closed.
    let deadline = world.scheduler.now + 600 * 1_000_000_000
    world.scheduler.wake(at: deadline)
    world.scheduler.wait { self.areReported(due) || self.world.scheduler.now >= deadline }
    if !isOver, let queue {
      world.trace.event("the queue is closed")
      queue.close()
      for observer in observers { observer.queueIsClosed() }
      world.scheduler.wait { self.world.scheduler.isQuiet }
      if world.scheduler.isStuck {
        world.violate("a thread waits forever", "when the queue is closed")
      }
      check(due)
    }
    let isKilled = isOver
    if !isKilled { world.scheduler.die() }
    unwind()
    guard world.violation == nil else { return }
    if !isKilled, world.disk.openDescriptors > 0 {
      world.violate("descriptors are not closed", "\(world.disk.openDescriptors)")
    }
    world.restart(isKilled: isKilled)
    if world.violation == nil { world.scheduler.revive() }
  }

  /// The transactions that were added and removed in this process.
  private var journaledReports: (new: Set<TransactionID>, gone: Set<TransactionID>) {
    let tables = world.journal.tables
    let new = Set(tables.transactions.keys).union(tables.finished.keys).subtracting(known)
    return (new.subtracting(finished), Set(tables.finished.keys).subtracting(finished))
  }

  private func areReported(_ due: (new: Set<TransactionID>, gone: Set<TransactionID>)) -> Bool {
    observers.allSatisfy { observer in
      !observer.isLasting
        || due.new.isSubset(of: observer.reported) && due.gone.isSubset(of: observer.removed)
    }
  }

  /// Checks that lasting observers got all reports of this process.
  private func check(_ due: (new: Set<TransactionID>, gone: Set<TransactionID>)) {
    for observer in observers where observer.isLasting {
      if let id = due.new.subtracting(observer.reported).min() {
        world.violate("a transaction was not reported", "\(id) to observer \(observer.number)")
      }
      if let id = due.gone.subtracting(observer.removed).min() {
        world.violate("a removal was not reported", "\(id) to observer \(observer.number)")
      }
    }
  }

  /// Lets all threads end, and releases all objects of the process.
  private func unwind() {
    for _ in 0..<3 {
      letGo()
      world.scheduler.unwind()
    }
  }

  private func letGo() {
    queue = nil
    observers = []
    leases = []
  }

  /// Opens the queue.
  ///
  /// With faults, this may take several attempts.
  private func open() -> Bool {
    for _ in 0..<(world.isHealing ? 1 : 4) where !isOver {
      do {
        let queue = try PaymentQueue(configuration())
        whimsLeft = 40
        known = Set(world.journal.tables.transactions.keys)
        finished = Set(world.journal.tables.finished.keys)
        self.queue = queue
        for _ in 0..<(world.isHealing ? 1 : world.plan.observers) {
          addObserver(to: queue, isLasting: true)
        }
        return !isOver
      } catch {
        if isOver { return false }
        world.check(error)
        world.trace.event("the library cannot be opened: \(error)")
        if world.isHealing { world.violate("the library cannot be opened", "\(error)") }
      }
    }
    return false
  }

  private func configuration() throws -> PaymentQueue.Configuration {
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: World.libraryPath, directoryHint: .isDirectory),
      store: try StoreLocation("/srv/store"))
    configuration.service = seller
    configuration.fileSystem = world.fileSystem
    configuration.maximumActiveDownloads = 1 + choices.pick(.plan, 3)
    let scheduler = world.scheduler
    configuration.clock = EngineClock(
      now: { Date(timeIntervalSince1970: 1_700_000_000 + Double(scheduler.now) / 1e9) },
      uptime: { Double(scheduler.now) / 1e9 })
    configuration.environment.execution = execution
    configuration.environment.assemblyWorkers = 0
    configuration.environment.openJournal = { [world] _ in world.journal }
    configuration.environment.usesCatalog = false
    configuration.environment.pieceSource = { [network] in network }
    configuration.environment.random = { 1 }
    configuration.environment.newIdentifier = { [self] in
      identifiers += 1
      let digits = "\(identifiers)"
      return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }
    return configuration
  }

  func addObserver(to queue: PaymentQueue, isLasting: Bool = false) {
    let observer = SimulatedObserver(
      world, self, number: nextObserver,
      isDiligent: world.isHealing || observers.isEmpty || choices.pick(.action, 2) == 1,
      whim: world.isHealing ? 0 : [0, 12, 4][choices.pick(.plan, 3)], isLasting: isLasting)
    nextObserver += 1
    observers.append(observer)
    queue.add(observer)
  }

  // MARK: The last process

  /// Runs without faults.
  ///
  /// Everything must complete.
  private func heal() {
    world.isHealing = true
    world.disk.foreignBytes = 0
    world.disk.capacity = 1 << 40
    world.trace.event("no more faults")
    guard open(), finishesEverything() else { return }
    end()
    // Another start collects leftovers.
    guard world.violation == nil, open() else { return }
    world.scheduler.sleep(1)
    end()
    guard world.violation == nil else { return }
    world.checkEnd()
    world.totals.transactions += world.journal.tables.finished.count
  }

  /// Waits until the queue is empty, and checks the reports of its observer.
  private func finishesEverything() -> Bool {
    guard let queue, let observer = observers.first else { return false }
    let before = world.journal.tables.transactions.keys.sorted()
    for transaction in seller.deferred.keys.sorted() {
      seller.decide(transaction, isApproved: true)
    }
    let ends = world.scheduler.wait { [world] in
      queue.transactions.isEmpty && world.journal.tables.transactions.isEmpty
    }
    guard ends, !isOver else {
      let left = world.journal.tables.transactions.values.sorted { $0.sequence < $1.sequence }
      let words = left.prefix(3).map { record in
        "\(record.id) \(record.state) \(record.downloads.map { "\($0.state)" })"
      }
      world.violate("a download does not end", "\(words) of \(left.count)")
      return false
    }
    world.scheduler.sleep(1)
    for id in before where !observer.reported.contains(id) {
      world.violate("a transaction was not reported at the launch", id.rawValue)
    }
    for id in before where !observer.removed.contains(id) {
      world.violate("a removal was not reported", id.rawValue)
    }
    return world.violation == nil
  }
}

extension World {
  /// Checks that an error has a type, and is not an inconsistency.
  func check(_ error: any Error) {
    guard !scheduler.isDead else { return }
    guard let error = error as? ContentError else {
      return violate("an error has no type", "\(error)")
    }
    if error.code == .inconsistent { violate("an error is unexpected", "\(error)") }
  }

  /// Checks a download that was reported as finished.
  func didFinish(_ download: Download) {
    // After the transaction is finished, its content may be removed.
    guard
      let record = journal.tables.transactions[download.transaction.id]?.downloads
        .first(where: { $0.id == download.id })
    else { return }
    totals.installs += 1
    if record.state != .finished {
      return violate("finished is reported before it is journaled", download.id.rawValue)
    }
    checkFinished(record.offer, switching: record.keepsCurrent != true)
  }
}

import Concurrency
import ContentModel
import FoundationEssentials
import HostedContent

/// A service that uses all features of the queue, in several processes.
// Sendable, because only the scheduled thread uses it.
final class SimulatedService: @unchecked Sendable {
  private let world: World
  private let seller: SimulatedSeller
  private let network: SimulatedNetwork
  private let execution: SimulatedExecution
  private var queue: PaymentQueue?
  private var observers: [SimulatedObserver] = []
  private var nextObserver = 1
  private var restores: Set<String> = []
  private var leases: [Lease] = []
  private var identifiers = 0
  /// The number of actions that observers may still perform in this process.
  private var whimsLeft = 0
  /// The transactions that the process found unfinished, and those finished before it.
  private var known: Set<String> = []
  private var finished: Set<String> = []

  init(_ world: World) {
    self.world = world
    seller = SimulatedSeller(world)
    network = SimulatedNetwork(world)
    execution = SimulatedExecution(world.scheduler)
    world.isEngineBusy = { [execution] in execution.engine?.isBusy == true }
  }

  private var choices: Choices { world.choices }
  private var isOver: Bool { world.scheduler.isDead }

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
  private var journaledReports: (new: Set<String>, gone: Set<String>) {
    let tables = world.journal.tables
    let new = Set(tables.transactions.keys).union(tables.finished.keys).subtracting(known)
    return (new.subtracting(finished), Set(tables.finished.keys).subtracting(finished))
  }

  private func areReported(_ due: (new: Set<String>, gone: Set<String>)) -> Bool {
    observers.allSatisfy { observer in
      !observer.isLasting
        || due.new.isSubset(of: observer.reported) && due.gone.isSubset(of: observer.removed)
    }
  }

  /// Checks that lasting observers got all reports of this process.
  private func check(_ due: (new: Set<String>, gone: Set<String>)) {
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
    configuration.environment.newIdentifier = { [self] in
      identifiers += 1
      let digits = "\(identifiers)"
      return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }
    return configuration
  }

  private func addObserver(to queue: PaymentQueue, isLasting: Bool = false) {
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
      world.violate("a transaction was not reported at the launch", id)
    }
    for id in before where !observer.removed.contains(id) {
      world.violate("a removal was not reported", id)
    }
    return world.violation == nil
  }

  // MARK: Actions

  func restoreEnded(_ result: RestoreResult) {
    if !restores.contains(result.identifier.rawValue) {
      world.violate("an unrequested restore ended", result.identifier.rawValue)
    }
    if let error = result.error { world.check(error) }
  }

  /// Performs any action of a service, at any time, even inside a callback.
  func doAnything(
    on transaction: PaymentTransaction?, _ queue: PaymentQueue?, from observer: SimulatedObserver?
  ) {
    guard let queue else { return }
    if observer != nil {
      // Actions cause calls, and calls cause actions, so their number is limited.
      whimsLeft -= 1
      guard whimsLeft > 0 else { return }
    }
    let deeds: [Deed] = observer == nil ? Deed.ofServices : Deed.ofObservers
    let deed = deeds[choices.pick(.action, deeds.count)]
    world.totals.actions += 1
    world.totals.deeds[deed.rawValue, default: 0] += 1
    if deed != .look {
      world.trace.event(
        "\(observer.map { "observer \($0.number)" } ?? "service"): \(deed.rawValue)")
    }
    perform(deed, on: transaction ?? one(of: queue.transactions), queue, observer)
  }

  enum Deed: String, CaseIterable {
    case pay, start, pause, resume, cancel, finish, throwAway = "throw away", restore
    case look = "ask handles", block, addObserver = "add an observer"
    case removeObserver = "remove an observer", limit = "set the limit", priority = "set a priority"
    case publish, update = "look for updates", remove, collect, use, pin, lease, damage, repair,
      fill
    case decide = "decide a deferred payment", grant = "grant elsewhere", revoke, promote,
      storefront

    // The first one changes nothing, which makes a history short.
    static let ofServices: [Deed] = [.look, .pay, .pay, .pay] + allCases
    static let ofObservers: [Deed] = [
      .look, .pay, .start, .pause, .resume, .cancel, .finish, .throwAway, .restore, .block,
      .addObserver, .removeObserver, .limit, .priority,
    ]
  }

  private func one<Value>(of values: [Value]) -> Value? {
    values.isEmpty ? nil : values[choices.pick(.action, values.count)]
  }

  private func perform(
    _ deed: Deed, on transaction: PaymentTransaction?, _ queue: PaymentQueue,
    _ observer: SimulatedObserver?
  ) {
    switch deed {
    case .pay: pay(queue)
    case .start: if let transaction { queue.start(transaction.downloads) }
    case .pause: if let transaction { queue.pause(transaction.downloads) }
    case .resume: if let transaction { queue.resume(transaction.downloads) }
    case .cancel: if let transaction { queue.cancel(transaction.downloads) }
    case .finish: if let transaction { queue.finishTransaction(transaction) }
    case .throwAway:
      if let transaction {
        queue.cancel(transaction.downloads)
        queue.finishTransaction(transaction)
        queue.add(transaction.payment)
      }
    case .restore: restores.insert(queue.restoreCompletedTransactions().rawValue)
    case .look: look(queue)
    case .block: world.scheduler.sleep(1)
    case .addObserver: if observers.count < 4 { addObserver(to: queue) }
    case .removeObserver:
      if let gone = observer ?? one(of: observers), observers.count > 1 {
        queue.remove(gone)
        if choices.pick(.action, 2) == 1 {
          gone.beginAgain()
          queue.add(gone)
        } else {
          observers.removeAll { $0 === gone }
        }
      }
    case .limit: queue.setMaximumActiveDownloads(1 + choices.pick(.action, 4))
    case .priority:
      if let transaction { queue.setPriority(choices.pick(.action, 3), of: transaction.downloads) }
    case .publish: if let product = one(of: seller.products) { seller.publish(product) }
    case .update: update(queue)
    case .remove, .collect, .use, .pin, .lease, .damage, .repair: keepHouse(deed, queue)
    case .fill:
      let free = world.disk.availableBytes
      world.disk.foreignBytes =
        world.disk.foreignBytes > 0 ? 0 : max(0, free - Int64(choices.pick(.action, 300_000)))
    case .decide:
      if let id = one(of: seller.deferred.keys.sorted()) {
        seller.decide(id, isApproved: choices.pick(.action, 2) == 0)
      }
    case .grant: if let product = one(of: seller.products) { seller.grantElsewhere(product) }
    case .revoke:
      if let product = one(of: seller.products) {
        seller.send(.revoked(Revocation([product.identifier])))
      }
    case .promote:
      if let product = one(of: seller.products) {
        seller.send(.promoted(Payment(productIdentifier: product.identifier)))
      }
    case .storefront:
      seller.send(.storefrontChanged(Storefront(countryCode: "SWE", identifier: "2")))
    }
  }

  private func pay(_ queue: PaymentQueue) {
    guard let product = one(of: seller.products) else { return }
    world.trace.event("pays for \(product.identifier)")
    queue.add(Payment(productIdentifier: product.identifier))
  }

  private func look(_ queue: PaymentQueue) {
    for transaction in queue.transactions {
      _ = try? transaction.transactionReceipt()
      for download in transaction.downloads {
        _ = (download.progress, download.timeRemaining, download.statistics, download.contentURL)
      }
    }
  }

  // MARK: Housekeeping

  private func keepHouse(_ deed: Deed, _ queue: PaymentQueue) {
    let installed = world.journal.tables.contents.values.filter(\.isConfirmed).map(\.content)
      .sorted { ($0.contentIdentifier, $0.version) < ($1.contentIdentifier, $1.version) }
    do {
      if deed == .collect {
        chooseByHand(installed)
        for failure in try queue.collect().failures where !isOver { world.check(failure) }
      }
      guard let content = one(of: installed) else { return }
      let (name, version) = (content.contentIdentifier, content.version)
      switch deed {
      case .remove:
        chooseByHand([content])
        try queue.remove(name, version)
      case .use:
        chooseByHand([content])
        try queue.use(version, of: name)
      case .pin: try queue.setPin(choices.pick(.action, 2) == 1, on: name, version)
      case .lease:
        if leases.isEmpty { leases = [try queue.lease(name, version)] } else { leases = [] }
      case .damage: world.damage(content)
      case .repair:
        let damages = world.damages
        inTask { [world] in
          _ = try await queue.repair(content)
          if world.damages == damages { world.damaged.remove(ContentKey(content)) }
        }
      default: break
      }
    } catch {
      if !isOver { world.check(error) }
    }
  }

  private func chooseByHand(_ contents: [InstalledContent]) {
    world.chosenByHand.formUnion(contents.map(\.contentIdentifier))
  }

  private func update(_ queue: PaymentQueue) {
    let switching = choices.pick(.action, 3) > 0
    inTask {
      for update in try await queue.updates() {
        try await queue.add(update, switching: switching)
      }
    }
  }

  private func inTask(_ body: @escaping @Sendable () async throws -> Void) {
    let world = world
    Task(executorPreference: execution.tasks) {
      do {
        try await body()
      } catch {
        if !world.scheduler.isDead { world.check(error) }
      }
    }
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
      let record = journal.tables.transactions[download.transaction.id.rawValue]?.downloads
        .first(where: { $0.id == download.id.rawValue })
    else { return }
    totals.installs += 1
    if record.state != .finished {
      return violate("finished is reported before it is journaled", download.id.rawValue)
    }
    checkFinished(record.offer, switching: record.keepsCurrent != true)
  }
}

import HostedModel
import FoundationEssentials
import HostedContent

/// What a service does with the queue.
extension SimulatedService {
  func restoreEnded(_ result: RestoreResult) {
    if !restores.contains(result.identifier) {
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
    case .restore: restores.insert(queue.restoreCompletedTransactions())
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
        try queue.remove(name, version: version)
      case .use:
        chooseByHand([content])
        try queue.use(version, of: name)
      case .pin: try queue.setPin(choices.pick(.action, 2) == 1, on: name, version: version)
      case .lease:
        if leases.isEmpty {
          leases = [try queue.lease(name, version: version)]
        } else {
          leases = []
        }
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
      for update in try await queue.availableUpdates() {
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

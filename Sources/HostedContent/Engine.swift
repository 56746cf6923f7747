import ContentLibrary
import ContentModel
import Dispatch

/// The shell around the state machine: journals what it decides, then carries it out.
///
/// One event at a time on a serial queue of its own; work runs on other threads and comes back as
/// events. Observers are told through `Delivery` and can never make the engine wait.
// Sendable because every stored variable is touched on `serial` only.
final class Engine: @unchecked Sendable {
  private let serial = DispatchQueue(label: "hostedcontent.engine")
  private let runningWork = DispatchGroup()

  private let library: ContentLibrary
  private let journal: any QueueJournal
  private let pipeline: Pipeline
  private let delivery: Delivery
  private let seller: Seller

  private var state: QueueState
  private var boards: [String: WorkBoard] = [:]
  private var progress: ProgressReports
  private var ticker: (any DispatchSourceTimer)?
  private var isClosed = false

  init(
    state: QueueState, library: ContentLibrary, journal: any QueueJournal, pipeline: Pipeline,
    delivery: Delivery, service: any StoreService
  ) {
    self.state = state
    self.library = library
    self.journal = journal
    self.pipeline = pipeline
    self.delivery = delivery
    seller = Seller(service)
    progress = ProgressReports(clock: pipeline.clock)
    seller.onAnswer = { [weak self] in self?.submit($0) }
  }

  /// Takes an event from any thread; it is handled soon, in the order of submission.
  func submit(_ event: QueueEvent) {
    serial.async { self.handle(event) }
  }

  /// Stops all work, keeps what was fetched, and waits until nothing runs any more.
  func close() {
    serial.sync {
      isClosed = true
      boards.values.forEach { $0.stop() }
    }
    runningWork.wait()
    serial.sync { stopTicking() }
    seller.close()
  }

  // MARK: Deciding

  private func handle(_ event: QueueEvent) {
    guard !isClosed else { return }
    if case .workEnded(let id, _) = event { endWork(on: id) }
    var next = state
    var decision = next.apply(event)
    do {
      if !decision.changes.isEmpty { try journal.commit(decision.changes) }
    } catch {
      let error = ContentError(error, while: "writing the journal")
      delivery.report(error: error)
      guard let substitute = Self.substitute(for: event, error) else { return }
      next = state
      decision = substitute.reduce(into: QueueDecision()) {
        $0.effects += next.apply($1).effects
      }
      // A payment that the journal does not have must not be asked for; one of a launch must be.
      if case .paymentAdded = event { decision.effects.removeAll(where: \.isPurchase) }
    }
    state = next
    decision.effects.forEach(perform)
  }

  /// What happens in memory alone when an event could not be journaled; nil when it must not happen.
  ///
  /// Wishes may be lost by a crash, so they are carried out all the same. What must be durable
  /// becomes a failure that can be tried again once the journal can be written.
  private static func substitute(for event: QueueEvent, _ error: ContentError) -> [QueueEvent]? {
    switch event {
    case .launched, .startRequested, .pauseRequested, .resumeRequested, .cancelRequested,
      .activeLimitChanged, .workEnded(_, .failed), .workEnded(_, .stopped),
      .purchaseAnswered(_, .failed), .purchaseAnswered(_, .deferred):
      [event]
    case .paymentAdded(let id, _):
      [event, .purchaseAnswered(transaction: id, .failed(error))]
    case .purchaseAnswered(let id, .purchased):
      [.purchaseAnswered(transaction: id, .failed(error))]
    case .workEnded(let id, .installed): [.workEnded(download: id, .failed(error))]
    case .restored, .finishRequested: nil
    }
  }

  // MARK: Acting

  private func perform(_ effect: QueueEffect) {
    switch effect {
    case .purchase(let id, let payment): seller.purchase(payment, transaction: id)
    case .startWork(let download): startWork(on: download)
    case .stopWork(let id): boards[id]?.stop()
    case .discardStaging(let id): discardStaging(for: id)
    case .reportTransactions(let ids):
      delivery.report(transactions: ids.compactMap(state.transaction))
    case .reportDownloads(let ids):
      let wanted = Set(ids)
      let owners = state.transactions.filter { $0.downloads.contains { wanted.contains($0.id) } }
      delivery.report(downloads: ids, of: owners)
    case .reportRemoved(let records): delivery.report(removed: records)
    case .refuse(let error): delivery.report(error: error)
    }
  }

  private func startWork(on download: DownloadRecord) {
    let board = WorkBoard()
    boards[download.id] = board
    progress.begin(download.id)
    startTicking()
    // A queue of its own, since work blocks: on a shared one it would take the threads that
    // everybody's tasks and timers run on.
    DispatchQueue(label: "hostedcontent.work").async(group: runningWork) { [pipeline, weak self] in
      let result: WorkResult
      do {
        try pipeline.run(download, board: board)
        result = .installed
      } catch {
        let error = ContentError(error, while: "installing \(download.offer.contentIdentifier)")
        result =
          error.code == .stopped
          ? .stopped : .failed(error.about(download.offer.productIdentifier.rawValue))
      }
      self?.submit(.workEnded(download: download.id, result))
    }
  }

  private func endWork(on id: String) {
    // The last of this one only: the others' turn is the ticker's, however many downloads end.
    reportProgress(of: boards.filter { $0.key == id })
    boards[id] = nil
    progress.end(id)
    if boards.isEmpty { stopTicking() }
  }

  private func discardStaging(for id: String) {
    do {
      try library.discardStaging(for: id)
    } catch {
      // Nothing depends on it: the next launch removes staging that belongs to no download.
      delivery.report(error: ContentError(error, while: "removing the staging of \(id)"))
    }
  }

  // MARK: Progress

  private func startTicking() {
    guard ticker == nil else { return }
    let timer = DispatchSource.makeTimerSource(queue: serial)
    timer.setEventHandler { [weak self] in
      guard let self else { return }
      reportProgress(of: boards)
    }
    timer.schedule(deadline: .now() + 0.1, repeating: 0.1, leeway: .milliseconds(20))
    timer.resume()
    ticker = timer
  }

  private func stopTicking() {
    ticker?.cancel()
    ticker = nil
  }

  private func reportProgress(of boards: [String: WorkBoard]) {
    let moved = progress.take(from: boards)
    if !moved.isEmpty { delivery.report(progress: moved) }
  }
}

extension QueueEffect {
  fileprivate var isPurchase: Bool {
    if case .purchase = self { true } else { false }
  }
}

/// Handles requests for downloads and results of work, and assigns free workers.
extension QueueState {
  mutating func start(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.download.state {
    case .waiting, .paused, .failed, .cancelled: request(place, &draft)
    case .active, .finished: break
    }
  }

  mutating func resume(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.download.state {
    case .paused, .failed: request(place, &draft)
    case .waiting, .active, .finished, .cancelled: break
    }
  }

  private mutating func request(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.record.state {
    case .purchased, .restored:
      if !place.download.isRequested { set(.waiting(isRequested: true), place, &draft) }
    case .purchasing, .failed, .deferred: break
    }
  }

  mutating func pause(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.download.state {
    case .waiting, .active:
      set(.paused, place, &draft)
      stopWorker(of: place.download.id, .keepingData, &draft)
    case .paused, .finished, .failed, .cancelled: break
    }
  }

  mutating func cancel(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    let download = place.download
    switch download.state {
    case .waiting, .active, .paused, .failed:
      set(.cancelled, place, &draft)
      if workers[download.id] == nil {
        draft.effects.append(.discardStaging(download: download.id))
      } else {
        stopWorker(of: download.id, .discardingData, &draft)
      }
    case .finished, .cancelled: break
    }
  }

  /// The priority does not survive a launch, so it is neither journaled nor reported.
  mutating func setPriority(
    _ priority: Int, _ place: DownloadPlace, _ draft: inout DecisionDraft
  ) {
    records.change(place) { $0.priority = Int32(priority) }
    draft.effects.append(.setPriority(download: place.download.id, priority))
  }

  mutating func take(
    _ offer: ContentOffer, for id: String, _ draft: inout DecisionDraft
  ) {
    guard let place = records.place(ofDownload: id), place.download.offer.problem != nil else {
      return
    }
    records.change(place) { $0.offer = offer }
    draft.report(download: id, of: place.record.id)
  }

  mutating func endWork(_ id: String, _ result: WorkResult, _ draft: inout DecisionDraft) {
    guard let worker = workers.removeValue(forKey: id) else { return }
    if worker.stop == .discardingData { draft.effects.append(.discardStaging(download: id)) }
    guard let place = records.place(ofDownload: id) else { return }
    switch (place.download.state, result) {
    case (.active, .installed), (.paused, .installed):
      // The pause came too late: the content is installed.
      set(.finished, place, &draft)
      for other in records.waiting(like: place.download) {
        set(.finished, other, &draft)
        draft.effects.append(.discardStaging(download: other.download.id))
      }
    case (.active, .failed(let error)):
      set(.failed(error), place, &draft)
    case (.active, .stopped):
      // A stop without a request: continue the download.
      set(.waiting(isRequested: true), place, &draft)
    case (.paused, .failed), (.paused, .stopped), (.waiting, _), (.finished, _), (.failed, _),
      (.cancelled, _):
      break
    }
  }

  /// Assigns free workers to waiting downloads, in the queue's order.
  ///
  /// Each content is downloaded by one worker at a time. Two workers would install into the same
  /// folder and compete for `current`. The second download then finds the installed content.
  mutating func activateWaiting(_ draft: inout DecisionDraft) {
    guard isLaunched, workers.count < activeLimit, !records.line.places.isEmpty else { return }
    // A content is also busy while its previous worker is stopping.
    var busy = Set(workers.values.map(\.content))
    // Skip the many downloads that may wait for a busy content.
    let limit = min(activeLimit - workers.count, records.line.contentCount(besides: busy))
    var turns: [DownloadPlace] = []
    for place in records.line.places {
      guard turns.count < limit else { break }
      if busy.insert(place.content).inserted { turns.append(place) }
    }
    for turn in turns {
      guard let download = set(.active, turn, &draft) else { continue }
      workers[download.id] = DownloadWorker(content: turn.content)
      draft.started.append(download)
    }
  }

  /// Sets the status of a download, and returns the download.
  @discardableResult
  private mutating func set(
    _ status: DownloadStatus, _ place: DownloadPlace, _ draft: inout DecisionDraft
  ) -> DownloadRecord? {
    records.change(place) { $0.status = status }
    guard let download = transaction(place.record.id)?.downloads[place.position] else { return nil }
    draft.report(download: download.id, of: place.record.id)
    return download
  }

  private mutating func stopWorker(
    of id: String, _ stop: DownloadWorker.Stop, _ draft: inout DecisionDraft
  ) {
    guard let worker = workers[id] else { return }
    if worker.stop == nil { draft.effects.append(.stopWork(download: id)) }
    if worker.stop != .discardingData { workers[id]?.stop = stop }
  }

  /// Returns the account of a download, and other contents that the account needs soon.
  ///
  /// At most `limit`: those of downloads with a worker, and of the next ones that wait for one.
  package func needs(of id: String, limit: Int) -> (account: AccountID?, ahead: [ContentOffer]) {
    let account = records.place(ofDownload: id)?.record.payment.applicationUsername
    guard limit > 0 else { return (account, []) }
    let active = workers.keys.compactMap { records.place(ofDownload: $0) }
    // A long line is not searched to its end.
    let waiting = records.line.places.prefix(4 * limit)
    let ahead = (active + waiting).filter { place in
      place.download.id != id && place.download.offer.problem == nil
        && place.record.payment.applicationUsername == account
    }
    return (account, ahead.prefix(limit).map(\.download.offer))
  }

  mutating func each(
    _ ids: [String], _ draft: inout DecisionDraft,
    _ act: (inout QueueState, DownloadPlace, inout DecisionDraft) -> Void
  ) {
    for id in ids {
      guard let place = records.place(ofDownload: id) else { continue }
      act(&self, place, &draft)
    }
  }
}

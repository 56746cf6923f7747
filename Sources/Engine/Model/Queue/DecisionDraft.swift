/// A decision in progress; each transaction is saved and reported once.
struct DecisionDraft {
  var touched: Set<String> = []
  /// The identifiers of new transactions.
  var added: Set<String> = []
  /// Whether to report all unfinished transactions, instead of listing 100,000 identifiers.
  var reportsEverything = false
  var reportedTransactions: [String] = []
  private(set) var reportedDownloads: [String] = []
  private var isReported: Set<String> = []
  var removed: [TransactionRecord] = []
  /// Changes other than those of records, such as the order that belongs to a seller's number.
  var changes: [JournalChange] = []
  var started: [DownloadRecord] = []
  var restoreEnd: RestoreEnd?
  var effects: [QueueEffect] = []

  mutating func report(transaction id: String) {
    touched.insert(id)
    reportedTransactions.append(id)
  }

  mutating func report(download id: String, of transaction: String) {
    touched.insert(transaction)
    report(downloads: [id])
  }

  mutating func report(downloads ids: [String]) {
    for id in ids where isReported.insert(id).inserted { reportedDownloads.append(id) }
  }

  /// Returns the changes to journal, with the transactions of `state`.
  func changes(in state: QueueState) -> [JournalChange] {
    var changes: [JournalChange] = removed.map { .finish($0) }
    changes += self.changes
    changes += touched.compactMap(state.transaction).sorted { $0.sequence < $1.sequence }
      .map { added.contains($0.id) ? .add($0) : .save($0) }
    return changes
  }

  /// Returns the effects, with the transactions of `state`.
  ///
  /// Reports precede the start of work, so active is seen before finished.
  func effects(in state: QueueState) -> [QueueEffect] {
    var effects: [QueueEffect] = []
    if reportsEverything { effects.append(.reportEverything(state.transactions)) }
    if !reportedTransactions.isEmpty {
      effects.append(.reportTransactions(reportedTransactions.compactMap(state.transaction)))
    }
    let removedDownloads = Set(removed.flatMap { $0.downloads.map(\.id) })
    let downloads = reportedDownloads.filter { !removedDownloads.contains($0) }
    if !downloads.isEmpty {
      let owners = Set(downloads.compactMap { DownloadRecord.transaction(ofDownload: $0) })
        .compactMap(state.transaction).sorted { $0.sequence < $1.sequence }
      effects.append(.reportDownloads(downloads, of: owners))
    }
    if !removed.isEmpty { effects.append(.reportRemoved(removed)) }
    effects += self.effects
    if let restoreEnd {
      let found = restoreEnd.transactions.compactMap(state.transaction)
      effects.append(.reportRestoreEnded(restoreEnd, found: found))
    }
    effects += started.map { .startWork($0) }
    return effects
  }
}

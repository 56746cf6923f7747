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

  /// Returns the decision; reports precede the start of work, so active is seen before finished.
  func decision(for state: QueueState) -> QueueDecision {
    var decision = QueueDecision()
    let removedDownloads = Set(removed.flatMap { $0.downloads.map(\.id) })
    let reportedDownloads = reportedDownloads.filter { !removedDownloads.contains($0) }
    decision.changes = removed.map { .finish($0) }
    decision.changes += changes
    decision.changes += touched.compactMap(state.transaction)
      .sorted { $0.sequence < $1.sequence }
      .map { added.contains($0.id) ? .add($0) : .save($0) }
    if reportsEverything { decision.effects.append(.reportEverything) }
    if !reportedTransactions.isEmpty {
      decision.effects.append(.reportTransactions(reportedTransactions))
    }
    if !reportedDownloads.isEmpty { decision.effects.append(.reportDownloads(reportedDownloads)) }
    if !removed.isEmpty { decision.effects.append(.reportRemoved(removed)) }
    decision.effects += effects
    decision.effects += started.map { .startWork($0) }
    return decision
  }
}

import ContentModel

/// The transactions that a decision reports, as they were right after it.
struct ReportedRecords {
  private var records: [String: TransactionRecord] = [:]
  private(set) var everything: [TransactionRecord] = []

  init(by decision: QueueDecision, in state: QueueState) {
    for effect in decision.effects {
      if effect == .reportEverything { everything = state.transactions }
      for id in effect.reportedTransactions where records[id] == nil {
        records[id] = state.transaction(id)
      }
    }
  }

  subscript(id: String) -> TransactionRecord? { records[id] }
}

extension QueueEffect {
  /// The transactions that this effect reports, directly or through their downloads.
  fileprivate var reportedTransactions: [String] {
    switch self {
    case .reportTransactions(let ids): ids
    case .reportDownloads(let ids): ids.compactMap { DownloadRecord.transaction(ofDownload: $0) }
    case .reportRestoreEnded(let end): end.transactions
    case .purchase, .restore, .notifyFinished, .startWork, .stopWork, .setPriority, .discardStaging,
      .reportRemoved,
      .reportEverything, .refuse:
      []
    }
  }

  var isPurchase: Bool {
    if case .purchase = self { true } else { false }
  }
}

import HostedModel

/// The reports of a queue's unfinished transactions, by identifier and in the queue's order.
struct UnfinishedReports {
  private var reports: [String: TransactionReport] = [:]
  /// In the queue's order; may contain removed reports until the next read.
  private var ordered: [TransactionReport] = []

  init(_ records: [TransactionRecord], in library: ReportLibrary) {
    reports.reserveCapacity(records.count)
    for record in records { add(TransactionReport(record, in: library)) }
  }

  subscript(id: String) -> TransactionReport? { reports[id] }

  mutating func add(_ report: TransactionReport) {
    reports[report.id] = report
    guard let last = ordered.last, last.sequence > report.sequence else {
      return ordered.append(report)
    }
    // A restored transaction, for example, may be reported late.
    let place = ordered.firstIndex { $0.sequence > report.sequence }
    ordered.insert(report, at: place ?? ordered.count)
  }

  mutating func remove(_ id: String) {
    reports[id] = nil
    if ordered.count > 2 * reports.count + 16 { removeOld() }
  }

  /// The handles in the queue's order.
  var transactions: [PaymentTransaction] {
    mutating get {
      if ordered.count > reports.count { removeOld() }
      return ordered.map(PaymentTransaction.init)
    }
  }

  private mutating func removeOld() { ordered.removeAll { reports[$0.id] !== $0 } }
}

extension [PaymentTransaction] {
  /// The downloads to report after these unfinished transactions.
  ///
  /// If `omittingStopped`, without those of a transaction with a failed, paused or cancelled one.
  func downloads(omittingStopped: Bool) -> [Download] {
    flatMap { transaction -> [Download] in
      let downloads = transaction.downloads
      return omittingStopped && downloads.contains(where: \.isStopped) ? [] : downloads
    }
  }
}

extension Download {
  fileprivate var isStopped: Bool {
    switch state {
    case .failed, .paused, .cancelled: true
    case .waiting, .active, .finished: false
    }
  }
}

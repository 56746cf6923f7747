import ContentModel

/// Changes of downloads that wait to be told, so that those of many downloads share a call.
///
/// Each transaction's changes stay in their order and none is left out; between transactions there
/// is no order to keep.
struct WaitingReports {
  /// Transactions as they stood, and the downloads that are told of them.
  struct Call {
    var records: [TransactionRecord] = []
    var downloads: [String] = []
  }

  private var reports: [Call] = []

  mutating func add(_ downloads: [String], of records: [TransactionRecord]) {
    reports.append(Call(records: records, downloads: downloads))
  }

  /// Everything that waits, in as few calls as show every change: the n-th holds the n-th change of
  /// each transaction.
  var calls: [Call] {
    // A single one is told as it is; it may be a launch's, of a hundred thousand.
    guard reports.count > 1 else { return reports }
    var calls: [Call] = []
    var counts: [String: Int] = [:]
    for report in reports {
      let byTransaction = Dictionary(grouping: report.downloads) {
        DownloadRecord.transaction(ofDownload: $0)
      }
      for record in report.records {
        let number = counts[record.id, default: 0]
        counts[record.id] = number + 1
        if calls.count == number { calls.append(Call()) }
        calls[number].records.append(record)
        calls[number].downloads += byTransaction[record.id] ?? []
      }
    }
    return calls
  }
}

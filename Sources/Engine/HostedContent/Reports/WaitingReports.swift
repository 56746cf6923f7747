import HostedModel

/// Pending reports about downloads, combined into few calls.
///
/// Every state of a transaction's downloads is reported, in order. Of its progress, only the newest
/// value is reported, together with a state. Different transactions are not ordered.
struct WaitingReports {
  /// The content of one call.
  struct Call {
    /// The transactions at the time of the report, and their changed downloads.
    var records: [TransactionRecord] = []
    var downloads: [DownloadID] = []
    /// The progress of downloads, of these or other transactions.
    var progress: [DownloadID: DownloadProgress] = [:]
  }

  private var reports: [Call]

  /// Creates a report of changed downloads; `records` are their transactions.
  init(_ downloads: [DownloadID], of records: [TransactionRecord]) {
    reports = [Call(records: records, downloads: downloads)]
  }

  init(progress: [DownloadID: DownloadProgress]) { reports = [Call(progress: progress)] }

  mutating func append(_ later: WaitingReports) {
    for report in later.reports {
      if report.records.isEmpty, let last = reports.indices.last {
        reports[last].progress.merge(report.progress) { $1 }
      } else {
        reports.append(report)
      }
    }
  }

  /// The reports in as few calls as show every state.
  ///
  /// The n-th call has the n-th state of each transaction.
  var calls: [Call] {
    // A single report is passed on unchanged; at launch, it may have 100,000 downloads.
    guard reports.count > 1 else { return reports }
    var calls: [Call] = []
    /// The newest call of each transaction, and whether it has a state yet.
    var newest: [TransactionID: (call: Int, hasState: Bool)] = [:]
    func change(_ transaction: TransactionID, isState: Bool, _ body: (inout Call) -> Void) {
      let last = newest[transaction] ?? (call: 0, hasState: false)
      let call = isState && last.hasState ? last.call + 1 : last.call
      newest[transaction] = (call, isState || last.hasState)
      if calls.count == call { calls.append(Call()) }
      body(&calls[call])
    }
    for report in reports {
      let downloads = Dictionary(grouping: report.downloads, by: \.transaction)
      for record in report.records {
        change(record.id, isState: true) {
          $0.records.append(record)
          $0.downloads += downloads[record.id] ?? []
        }
      }
      for (download, progress) in report.progress {
        change(download.transaction, isState: false) { $0.progress[download] = progress }
      }
    }
    return calls
  }
}

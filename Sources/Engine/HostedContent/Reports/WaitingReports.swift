import ContentModel

/// Pending reports about downloads, combined into few calls.
///
/// Every state of a transaction's downloads is reported, in order. Of its progress, only the newest
/// value is reported, together with a state. Different transactions are not ordered.
struct WaitingReports {
  /// The content of one call.
  struct Call {
    /// The transactions at the time of the report, and their changed downloads.
    var records: [TransactionRecord] = []
    var downloads: [String] = []
    /// The progress of downloads, of these or other transactions.
    var progress: [String: DownloadProgress] = [:]
  }

  private var reports: [Call]

  /// Creates a report of changed downloads; `records` are their transactions.
  init(_ downloads: [String], of records: [TransactionRecord]) {
    reports = [Call(records: records, downloads: downloads)]
  }

  init(progress: [String: DownloadProgress]) { reports = [Call(progress: progress)] }

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
    var sorted = SortedSteps()
    for report in reports {
      let downloads = Self.byTransaction(report.downloads)
      let progress = Self.byTransaction(report.progress.keys)
      for record in report.records { sorted.add(record, downloads[record.id] ?? []) }
      for (transaction, ids) in progress {
        sorted.add(report.progress.filter { ids.contains($0.key) }, of: transaction)
      }
    }
    return sorted.calls
  }

  private static func byTransaction(_ downloads: some Sequence<String>) -> [String: [String]] {
    Dictionary(grouping: downloads) { DownloadRecord.transaction(ofDownload: $0) ?? "" }
  }
}

/// Builds the calls.
private struct SortedSteps {
  private(set) var calls: [WaitingReports.Call] = []
  /// The newest call of each transaction, and whether it has a state yet.
  private var newest: [String: (call: Int, hasRecord: Bool)] = [:]

  mutating func add(_ record: TransactionRecord, _ downloads: [String]) {
    let last = newest[record.id]
    let call = last.map { $0.hasRecord ? $0.call + 1 : $0.call } ?? 0
    newest[record.id] = (call, true)
    reserve(call)
    calls[call].records.append(record)
    calls[call].downloads += downloads
  }

  mutating func add(_ progress: [String: DownloadProgress], of transaction: String) {
    let call = newest[transaction]?.call ?? 0
    if newest[transaction] == nil { newest[transaction] = (call, false) }
    reserve(call)
    calls[call].progress.merge(progress) { $1 }
  }

  private mutating func reserve(_ call: Int) {
    if calls.count == call { calls.append(WaitingReports.Call()) }
  }
}

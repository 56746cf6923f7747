import ContentModel

/// What is to be told of downloads, so that many share a call.
///
/// Each state of a transaction's downloads is told, in order; progress is told with the state that
/// it was reported beside, only the newest. Between transactions there is no order to keep.
struct WaitingReports {
  /// What one call tells.
  struct Call {
    /// Transactions as they stood, and the downloads that are told of them.
    var records: [TransactionRecord] = []
    var downloads: [String] = []
    /// How far downloads were, of these transactions or of others.
    var progress: [String: DownloadProgress] = [:]
  }

  private var reports: [Call]

  /// Changed downloads of transactions that stand as `records` say.
  init(_ downloads: [String], of records: [TransactionRecord]) {
    reports = [Call(records: records, downloads: downloads)]
  }

  /// How far downloads are.
  init(progress: [String: DownloadProgress]) { reports = [Call(progress: progress)] }

  /// Puts `later` behind these.
  mutating func append(_ later: WaitingReports) {
    for report in later.reports {
      if report.records.isEmpty, let last = reports.indices.last {
        reports[last].progress.merge(report.progress) { $1 }
      } else {
        reports.append(report)
      }
    }
  }

  /// Everything that waits, in as few calls as show every state: the n-th holds the n-th state of
  /// each transaction.
  var calls: [Call] {
    // A single one is told as it is; it may be a launch's, of a hundred thousand.
    guard reports.count > 1 else { return reports }
    var sorted = SortedSteps()
    for report in reports {
      let downloads = Self.byTransaction(report.downloads)
      let progress = Self.byTransaction(report.progress.keys)
      for record in report.records {
        sorted.add(record, downloads[record.id] ?? [])
      }
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

/// Calls while they are filled.
private struct SortedSteps {
  private(set) var calls: [WaitingReports.Call] = []
  /// The call that has the newest of a transaction, and whether its state is in it yet.
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

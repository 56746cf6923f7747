import HostedConcurrency
import HostedModel

/// Data that all handles of one library share.
final class ReportLibrary: Sendable {
  /// The path of the library's `products` folder, for content URLs.
  let productsPath: String
  let journal: any QueueJournal
  private let owner = Mutex(WeakReference<PaymentQueue>())

  init(productsPath: String, journal: any QueueJournal) {
    self.productsPath = productsPath
    self.journal = journal
  }

  /// The queue; nil after it is deallocated.
  var queue: PaymentQueue? {
    get { owner.withLock { $0 }.object }
    set {
      let reference = WeakReference(newValue)
      owner.withLock { $0 = reference }
    }
  }
}

/// The last reported state of a transaction and its downloads; shared by all its handles.
final class TransactionReport: Sendable {
  let id: TransactionID
  /// The position in the queue's order.
  let sequence: Int
  let library: ReportLibrary
  private let state: Mutex<State>

  private struct State {
    var record: TransactionRecord
    /// Nil if no download has progress, which is usual.
    var progress: [DownloadID: DownloadProgress]?
  }

  init(_ record: TransactionRecord, in library: ReportLibrary) {
    id = record.id
    sequence = record.sequence
    self.library = library
    state = Mutex(State(record: record))
  }

  var record: TransactionRecord { state.withLock { $0.record } }

  func progress(of download: DownloadID) -> DownloadProgress? {
    state.withLock { $0.progress?[download] }
  }

  /// Stores `record`; a new attempt of a download resets its progress.
  func update(_ record: TransactionRecord) {
    state.withLock { state in
      if state.progress != nil {
        let wasActive = Set(state.record.downloads.filter { $0.state == .active }.map(\.id))
        for download in record.downloads
        where download.state == .active && !wasActive.contains(download.id) {
          state.progress?[download.id] = nil
        }
      }
      state.record = record
    }
  }

  func update(_ progress: DownloadProgress, of download: DownloadID) {
    state.withLock { $0.progress = ($0.progress ?? [:]).merging([download: progress]) { $1 } }
  }
}

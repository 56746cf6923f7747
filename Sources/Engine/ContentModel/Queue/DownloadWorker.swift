/// The worker of an active download.
struct DownloadWorker: Hashable {
  let content: ProductIdentifier
  var duty: Duty

  /// The task of a worker.
  enum Duty: Hashable {
    /// Running. Next: removed, or stopping.
    case working
    /// Stopping; fetched data is kept, or discarded afterwards. Next: removed.
    case stopping(discarding: Bool)
  }
}

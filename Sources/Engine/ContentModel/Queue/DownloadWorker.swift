/// What works on a download.
struct DownloadWorker: Hashable {
  let content: ProductIdentifier
  var duty: Duty

  /// What a worker is to do.
  enum Duty: Hashable {
    /// Next: gone, or stopping.
    case working
    /// Told to end; what was fetched is kept, or discarded once it has ended. Next: gone.
    case stopping(discarding: Bool)
  }
}

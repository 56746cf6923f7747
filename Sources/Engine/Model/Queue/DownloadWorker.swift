/// The worker of an active download.
struct DownloadWorker: Hashable {
  let content: ProductIdentifier
  /// What happens to fetched data after a requested stop; nil while it is running.
  var stop: Stop?

  enum Stop { case keepingData, discardingData }
}

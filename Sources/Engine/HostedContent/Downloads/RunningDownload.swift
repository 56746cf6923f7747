/// The job of a download, and the progress that was reported last.
struct RunningDownload {
  let job: DownloadJob
  private var meter = ProgressMeter()
  private var last = DownloadProgress(fraction: 0)

  init(_ job: DownloadJob) { self.job = job }

  /// Returns the progress, unless it is the same as at the last call.
  mutating func newProgress(at instant: Double) -> DownloadProgress? {
    var progress = last
    if let work = job.work { progress = meter.advance(to: work, at: instant) }
    (progress.phase, progress.wait) = job.activity
    progress.statistics = job.ticket.statistics
    defer { last = progress }
    return progress == last ? nil : progress
  }
}

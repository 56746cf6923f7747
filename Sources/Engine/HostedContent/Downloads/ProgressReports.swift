/// The progress meters of all running downloads; reports only changes.
struct ProgressReports {
  private let clock: EngineClock
  private var meters: [String: ProgressMeter?] = [:]
  private var last: [String: DownloadProgress] = [:]

  init(clock: EngineClock) { self.clock = clock }

  mutating func begin(_ id: String) {
    meters[id] = .some(nil)
    last[id] = nil
  }

  mutating func end(_ id: String) {
    meters[id] = nil
    last[id] = nil
  }

  /// Reads the jobs and returns the progress that changed since the last call.
  mutating func take(from jobs: [String: DownloadJob]) -> [String: DownloadProgress] {
    let instant = clock.uptime()
    var moved: [String: DownloadProgress] = [:]
    for (id, job) in jobs {
      guard let known = meters[id] else { continue }
      let before = last[id] ?? DownloadProgress(fraction: 0, timeRemaining: nil)
      var progress = before
      if let work = job.work {
        var meter = known ?? ProgressMeter(work)
        progress = meter.advance(to: work, at: instant)
        meters[id] = meter
      }
      progress.activity = job.activity
      progress.statistics = job.ticket.statistics
      if progress != before { moved[id] = progress }
      last[id] = progress
    }
    return moved
  }
}

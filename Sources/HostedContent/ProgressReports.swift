/// The meters of all downloads that are worked on; only what moved is reported.
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

  /// Reads the boards and returns what changed since the last time.
  mutating func take(from boards: [String: WorkBoard]) -> [String: DownloadProgress] {
    let instant = clock.uptime()
    var moved: [String: DownloadProgress] = [:]
    for (id, board) in boards {
      guard let work = board.work, let known = meters[id] else { continue }
      var meter = known ?? ProgressMeter(total: work.total, at: instant)
      let progress = meter.advance(to: work.done, at: instant)
      meters[id] = meter
      if last[id] != progress { moved[id] = progress }
      last[id] = progress
    }
    return moved
  }
}

/// Notices an answer that falls silent, or brings too little for too long; pure, time is handed in.
struct StallGuard {
  /// What is to be done about an answer.
  enum Verdict {
    /// Nothing.
    case moving
    /// Nothing has come for `idleTimeout`; another request may bring what is missing.
    case idle
    /// Nothing has come for `window`, or too little within it; it is given up.
    case stalled
  }

  /// Seconds.
  let window: Double
  /// Bytes that must arrive in each window.
  let minimumBytes: Int64
  /// Seconds without a byte after which an answer is idle, and again each time that they have
  /// passed.
  let idleTimeout: Double
  private var start: Double
  private var bytesAtStart: Int64 = 0
  private var bytes: Int64 = 0
  /// When the last byte came.
  private(set) var lastProgress: Double
  private var nextReport: Double
  /// Whether nothing has come since it was found idle.
  private(set) var isIdle = false

  init(window: Double, minimumBytes: Int64, idleTimeout: Double = .infinity, at now: Double) {
    self.window = window
    self.minimumBytes = max(1, minimumBytes)
    self.idleTimeout = idleTimeout
    start = now
    lastProgress = now
    nextReport = now + idleTimeout
  }

  /// When it must be judged again.
  var deadline: Double { min(start + window, lastProgress + window, nextReport) }

  /// Starts over, because a pause of ours has ended or nothing could arrive yet.
  mutating func restart(bytes: Int64, at now: Double) {
    start = now
    bytesAtStart = bytes
    advance(to: bytes, at: now)
  }

  /// Takes note of the `bytes` that arrived so far; the seconds of silence that ended by that.
  @discardableResult mutating func note(bytes: Int64, at now: Double) -> Double? {
    guard bytes != self.bytes else { return nil }
    let silence = now - lastProgress
    advance(to: bytes, at: now)
    return silence
  }

  private mutating func advance(to bytes: Int64, at now: Double) {
    self.bytes = bytes
    lastProgress = now
    nextReport = now + idleTimeout
    isIdle = false
  }

  /// Judges by the `bytes` that arrived so far.
  mutating func judge(bytes: Int64, at now: Double) -> Verdict {
    note(bytes: bytes, at: now)
    if now >= lastProgress + window { return .stalled }
    if now >= start + window {
      if bytes - bytesAtStart < minimumBytes { return .stalled }
      start = now
      bytesAtStart = bytes
    }
    guard now >= nextReport else { return .moving }
    nextReport = now + idleTimeout
    isIdle = true
    return .idle
  }
}

/// How long a host may send nothing before its answer is idle, measured by its answers; pure.
struct IdleTimeout {
  /// It is never shorter, in seconds, unless it was from the beginning.
  static let minimum = 1.0
  /// A host that sends fewer bytes a second may have a line with gaps.
  static let fastRate = 256e3

  private let initial: Double
  private let maximum: Double
  /// Seconds.
  private(set) var seconds: Double

  /// Begins with `initial` seconds; it is never longer than `maximum`.
  init(_ initial: Double, maximum: Double) {
    self.initial = min(initial, maximum)
    self.maximum = maximum
    seconds = self.initial
  }

  /// An answer went on after `silence`, so a silence of that length is none.
  mutating func resume(after silence: Double) {
    seconds = min(maximum, max(seconds, 2 * silence))
  }

  /// An answer that came with `rate` bytes a second fell silent and did not go on.
  mutating func stall(rate: Double) {
    guard rate >= Self.fastRate else { return }
    seconds = max(min(initial, Self.minimum), seconds / 2)
  }

  /// An answer came whole.
  mutating func complete() {
    seconds = seconds < initial ? min(initial, seconds * 2) : max(initial, seconds * 0.9)
  }
}

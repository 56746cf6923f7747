/// Detects an answer that is idle or too slow; pure: callers pass the time.
struct StallGuard {
  /// The state of an answer.
  enum Verdict {
    /// Bytes arrive.
    case moving
    /// No byte for `idleTimeout`; a second request may fetch the missing bytes.
    case idle
    /// No byte, or too few bytes, for `window`; the request fails.
    case stalled
  }

  /// In seconds.
  let window: Double
  /// The minimum bytes per window.
  let minimumBytes: Int64
  /// The seconds without a byte after which an answer is idle.
  ///
  /// It is reported again each time they have passed.
  let idleTimeout: Double
  private var start: Double
  private var bytesAtStart: Int64 = 0
  private var bytes: Int64 = 0
  /// The uptime of the last byte.
  private(set) var lastProgress: Double
  private var nextReport: Double
  /// Whether no byte has arrived since the answer was found idle.
  private(set) var isIdle = false

  init(window: Double, minimumBytes: Int64, idleTimeout: Double = .infinity, at now: Double) {
    self.window = window
    self.minimumBytes = max(1, minimumBytes)
    self.idleTimeout = idleTimeout
    start = now
    lastProgress = now
    nextReport = now + idleTimeout
  }

  /// The uptime of the next check.
  var deadline: Double { min(start + window, lastProgress + window, nextReport) }

  /// Starts again after a pause of ours, or after a time in which nothing could arrive.
  mutating func restart(bytes: Int64, at now: Double) {
    start = now
    bytesAtStart = bytes
    advance(to: bytes, at: now)
  }

  /// Records the `bytes` received so far; returns the seconds without bytes that have just ended.
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

  /// Checks the answer after `bytes` bytes so far.
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

/// The idle timeout of a host, which adapts to its answers; pure.
struct IdleTimeout {
  /// The minimum in seconds, unless the initial value is lower.
  static let minimum = 1.0
  /// The bytes per second of a fast host; a slower host may have a connection with gaps.
  static let fastRate = 256e3

  private let initial: Double
  private let maximum: Double
  private(set) var seconds: Double

  /// Starts with `initial` seconds; the timeout never exceeds `maximum`.
  init(_ initial: Double, maximum: Double) {
    self.initial = min(initial, maximum)
    self.maximum = maximum
    seconds = self.initial
  }

  /// An answer continued after `silence` seconds, so the timeout must be longer.
  mutating func resume(after silence: Double) { seconds = min(maximum, max(seconds, 2 * silence)) }

  /// An answer with `rate` bytes per second stopped and did not continue.
  mutating func stall(rate: Double) {
    guard rate >= Self.fastRate else { return }
    seconds = max(min(initial, Self.minimum), seconds / 2)
  }

  /// An answer was complete.
  mutating func complete() {
    seconds = seconds < initial ? min(initial, seconds * 2) : max(initial, seconds * 0.9)
  }
}

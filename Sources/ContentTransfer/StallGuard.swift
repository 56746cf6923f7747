/// Notices a transfer that moves too little for too long; pure, time is handed in.
struct StallGuard {
  /// Seconds.
  let window: Double
  /// Bytes that must arrive in each window.
  let leastBytes: Int64
  private var start: Double
  private var bytesAtStart: Int64 = 0

  init(window: Double, leastBytes: Int64, at now: Double) {
    self.window = window
    self.leastBytes = max(1, leastBytes)
    start = now
  }

  /// When it must be looked at again.
  var deadline: Double { start + window }

  /// Starts over, because a pause of ours has ended or nothing could arrive yet.
  mutating func restart(bytes: Int64, at now: Double) {
    start = now
    bytesAtStart = bytes
  }

  /// Whether too little of the `bytes` that arrived so far came within the window that ends now.
  mutating func isStalled(bytes: Int64, at now: Double) -> Bool {
    guard now >= deadline else { return false }
    if bytes - bytesAtStart < leastBytes { return true }
    restart(bytes: bytes, at: now)
    return false
  }
}

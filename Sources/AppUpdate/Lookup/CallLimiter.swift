import FoundationEssentials

/// Limits the rate of calls to a server; pure: `now` is a parameter.
struct CallLimiter {
  /// The maximum number of calls per minute.
  let callsPerMinute: Int
  /// The maximum wait in seconds.
  let maximumWait: Double
  /// The times of recent and planned calls, in order.
  private var calls: [Date] = []
  /// Set while the server asks to wait.
  private var blockedUntil: Date?

  init(callsPerMinute: Int, maximumWait: Double) {
    self.callsPerMinute = max(1, callsPerMinute)
    self.maximumWait = max(0, maximumWait)
  }

  /// The result for a caller.
  enum Reservation: Hashable {
    /// Call after this number of seconds. The slot is reserved.
    case after(seconds: Double)
    /// Do not call. A slot is free after this number of seconds.
    case refused(seconds: Double)
  }

  /// Reserves a slot for a call.
  mutating func reserve(at now: Date) -> Reservation {
    // Entries beyond the maximum wait are from before the clock was set back.
    calls.removeAll { $0 <= now - 60 || $0 > now + maximumWait + 60 }
    var date = now + block(at: now)
    if calls.count >= callsPerMinute {
      date = max(date, calls[calls.count - callsPerMinute] + 60)
    }
    let wait = date.timeIntervalSince(now)
    guard wait <= maximumWait else { return .refused(seconds: wait) }
    calls.append(date)
    return .after(seconds: wait)
  }

  /// Frees the slot that was reserved for `date`, because the call is not made.
  mutating func release(_ date: Date) {
    // The sum of a date and a wait is rounded.
    if let slot = calls.firstIndex(where: { abs($0.timeIntervalSince(date)) < 0.001 }) {
      calls.remove(at: slot)
    }
  }

  /// Checks again after a wait since `start`: a server may have asked to wait in the meantime.
  mutating func recheck(at now: Date, since start: Date) -> Reservation {
    let wait = block(at: now)
    let isOver = wait > 0 && now.timeIntervalSince(start) + wait > maximumWait
    return isOver ? .refused(seconds: wait) : .after(seconds: wait)
  }

  /// The seconds until the server may be called again, at most one day.
  private mutating func block(at now: Date) -> Double {
    if let until = blockedUntil, until <= now || until > now + 86_400 { blockedUntil = nil }
    return blockedUntil?.timeIntervalSince(now) ?? 0
  }

  /// Records that the server asks to wait; a longer wait from before is kept.
  mutating func block(forSeconds seconds: Double, at now: Date) {
    blockedUntil = max(now + seconds, blockedUntil ?? now)
  }
}

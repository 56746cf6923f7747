import FoundationEssentials

/// Spreads calls so that a server's allowance is kept.
///
/// Pure: `now` comes with each question.
struct CallLimiter {
  /// Calls that are allowed in a minute.
  let callsPerMinute: Int
  /// The longest wait in seconds that is still taken.
  let patience: Double
  /// When recent and coming calls are made, in order.
  private var calls: [Date] = []
  /// Set while the server asks to wait.
  private var blockedUntil: Date?

  init(callsPerMinute: Int, patience: Double) {
    self.callsPerMinute = max(1, callsPerMinute)
    self.patience = max(0, patience)
  }

  /// What a caller does.
  enum Turn: Hashable {
    /// It calls after so many seconds; its place is taken.
    case after(seconds: Double)
    /// It does not call; a place is free after so many seconds.
    case refused(seconds: Double)
  }

  /// Takes a place for a call.
  mutating func takeTurn(at now: Date) -> Turn {
    // What lies further ahead than anybody would wait was noted by a clock that was set back since.
    calls.removeAll { $0 <= now - 60 || $0 > now + patience + 60 }
    var date = now + block(at: now)
    if calls.count >= callsPerMinute {
      date = max(date, calls[calls.count - callsPerMinute] + 60)
    }
    let wait = date.timeIntervalSince(now)
    guard wait <= patience else { return .refused(seconds: wait) }
    calls.append(date)
    return .after(seconds: wait)
  }

  /// What a caller does whose wait is over: a server may have asked for more meanwhile.
  mutating func keepTurn(at now: Date) -> Turn {
    let wait = block(at: now)
    return wait <= patience ? .after(seconds: wait) : .refused(seconds: wait)
  }

  /// Seconds until the server may be called again; it never asks for more than a day.
  private mutating func block(at now: Date) -> Double {
    if let until = blockedUntil, until <= now || until > now + 86_400 { blockedUntil = nil }
    return blockedUntil?.timeIntervalSince(now) ?? 0
  }

  /// The server asks to wait; a longer wait that it asked for before stays.
  mutating func block(forSeconds seconds: Double, at now: Date) {
    blockedUntil = max(now + seconds, blockedUntil ?? now)
  }
}

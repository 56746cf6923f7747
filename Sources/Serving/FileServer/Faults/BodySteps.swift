/// The steps to send a disturbed body; pure, so that they are reproducible.
struct BodySteps {
  private let limit: Int64
  private let end: Step
  private let stall: Transmission.Stall?
  private let drip: Transmission.Drip?
  private var sent: Int64 = 0
  private var hasStalled = false
  private var owesPause = false

  /// The next step.
  enum Step: Hashable {
    /// Send this many bytes, at least one.
    case send(Int64)
    /// Wait. Nil waits until the client leaves.
    case pause(Duration?)
    /// The end of the body, real or claimed.
    case end
    /// Close the connection before the end of the body.
    case cut
    case reset
  }

  /// The steps of a body of `length` bytes.
  init(length: Int64, _ disturbance: Transmission.Disturbance) {
    let whole = disturbance.isEndless ? .max : length + min(disturbance.surplus, .max - length)
    switch disturbance.end {
    case .cut(let count): (limit, end) = (min(whole, count), .cut)
    case .reset(let count): (limit, end) = (min(whole, count ?? 0), .reset)
    case .closed: (limit, end) = (0, .cut)
    case nil: (limit, end) = (whole, .end)
    }
    stall = disturbance.stall
    drip = disturbance.drip
  }

  mutating func next() -> Step {
    if let stall, !hasStalled, sent >= stall.offset {
      hasStalled = true
      return .pause(stall.time)
    }
    if sent >= limit { return end }
    if owesPause, let drip {
      owesPause = false
      return .pause(drip.time)
    }
    var count = limit - sent
    if let stall, !hasStalled { count = min(count, stall.offset - sent) }
    if let drip {
      count = min(count, drip.bytes)
      owesPause = true
    }
    sent += count
    return .send(count)
  }
}

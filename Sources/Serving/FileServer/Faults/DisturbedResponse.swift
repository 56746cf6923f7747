import HostedHTTPValues

/// Writes a response with a fault directly to the socket; the connection ends afterwards.
struct DisturbedResponse {
  let answer: HTTPResponse<ServedBody>
  let disturbance: Transmission.Disturbance
  /// The rate limit of the body.
  let pace: Pace
  let wire: Wire
  let entry: RequestLog.Entry?
  let isHead: Bool

  private static let bufferSize = 64 << 10
  private static let fillingLine = "X-Filling: \(String(repeating: "x", count: 1_000))\r\n"

  /// Writes the response; ends early if the client leaves or the server stops.
  func write() {
    switch disturbance.end {
    case .closed: wire.cut()
    case .reset(nil): wire.reset()
    case .cut, .reset, nil: if writeHead(), !hasNoBody { writeBody() }
    }
  }

  private var hasNoBody: Bool { isHead || answer.status == 304 }

  // MARK: The head

  private func writeHead() -> Bool {
    var bytes = Array(head.utf8)[...]
    let portion = Int(clamping: disturbance.headDrip?.bytes ?? .max)
    while !bytes.isEmpty {
      guard bytes.prefix(portion).withUnsafeBytes(wire.send) else { return false }
      bytes = bytes.dropFirst(portion)
      if let drip = disturbance.headDrip, !bytes.isEmpty, !wire.wait(drip.time) { return false }
    }
    return true
  }

  private var head: String {
    var head = answer.head
    if let length { head.headers.append(HTTPHeader("Content-Length", "\(length)")) }
    let count = Int(min(disturbance.filling, 64 << 20))
    let lines = count > 0 ? count / Self.fillingLine.utf8.count + 1 : 0
    return head.lastLines
      + String(repeating: Self.fillingLine, count: lines) + "\r\n"
  }

  private var length: Int64? {
    switch disturbance.length {
    case .none: nil
    case .actual: disturbance.isEndless || answer.status == 304 ? nil : answer.body.length
    case .off(let difference):
      max(0, answer.body.length + min(difference, .max - answer.body.length))
    case .exactly(let length): length
    }
  }

  // MARK: The body

  private func writeBody() {
    var steps = BodySteps(length: answer.body.length, disturbance)
    let reader = answer.body.reader()
    while true {
      switch steps.next() {
      case .send(let count): guard send(count, reader) else { return }
      case .pause(let time): guard wire.wait(time) else { return }
      case .end: return
      case .cut: return wire.cut()
      case .reset: return wire.reset()
      }
    }
  }

  /// Sends the next `count` bytes of the body, and zeros after its end.
  private func send(_ count: Int64, _ reader: ByteReader) -> Bool {
    var buffer = [UInt8](repeating: 0, count: min(Int(clamping: count), Self.bufferSize))
    var left = count
    while left > 0 {
      let wanted = Int(min(Int64(min(buffer.count, pace.portion)), left))
      let isSent = buffer.withUnsafeMutableBytes { buffer in
        guard let read = try? reader(.init(rebasing: buffer[..<wanted])) else {
          return false
        }
        for index in read..<wanted { buffer[index] = 0 }
        entry?.count(wanted)
        return pace.wait(for: wanted, wire)
          && wire.send(.init(rebasing: UnsafeRawBufferPointer(buffer)[..<wanted]))
      }
      guard isSent else { return false }
      left -= Int64(wanted)
    }
    return true
  }
}

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

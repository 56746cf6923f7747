/// How an answer travels.
struct Transmission: Equatable {
  /// Pause before the answer.
  var latency: Duration = .zero
  /// Bytes of the body a second.
  var rate: Int64?
  /// What needs bytes, pauses or an end that an HTTP library would not produce; nil for none.
  var disturbance: Disturbance?

  /// What is wrong with the bytes on the wire.
  struct Disturbance: Equatable {
    var length = LengthPromise.honest
    /// Bytes behind the body.
    var surplus: Int64 = 0
    var isEndless = false
    var end: End?
    var stall: Stall?
    var drip: Drip?
    var headDrip: Drip?
    /// Bytes of filling in the head.
    var filling: Int64 = 0
  }

  /// An end before the body's own.
  enum End: Hashable {
    /// Closed before any byte.
    case closed
    /// Closed after so many bytes of the body.
    case cut(Int64)
    /// Reset after so many bytes of the body; nil for before the head.
    case reset(Int64?)
  }

  struct Stall: Hashable {
    let offset: Int64
    /// Nil for until the client leaves.
    let time: Duration?
  }

  struct Drip: Hashable {
    let bytes: Int64
    let time: Duration
  }
}

extension TransmissionFault {
  /// Changes how the answer travels; of two faults of one kind the later wins.
  func change(_ transmission: inout Transmission) {
    var disturbance = transmission.disturbance ?? Transmission.Disturbance()
    switch self {
    case .latency(let time):
      transmission.latency += time
      return
    case .rate(let rate):
      transmission.rate = rate
      return
    case .contentLength(let length): disturbance.length = length
    case .longer(let count): disturbance.surplus = count
    case .endless: disturbance.isEndless = true
    case .cut(let count): disturbance.end = .cut(count)
    case .reset(let count): disturbance.end = .reset(count)
    case .close: disturbance.end = .closed
    case .stall(let offset, let time): disturbance.stall = .init(offset: offset, time: time)
    case .drip(let bytes, let time): disturbance.drip = .init(bytes: bytes, time: time)
    case .slowHead(let bytes, let time): disturbance.headDrip = .init(bytes: bytes, time: time)
    case .hugeHead(let count): disturbance.filling = count
    }
    transmission.disturbance = disturbance
  }
}

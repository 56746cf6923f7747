/// How to send a response.
struct Transmission: Equatable {
  /// The pause before the response.
  var latency: Duration = .zero
  /// The maximum rate of the body, in bytes per second.
  var rate: Int64?
  /// Faults that an HTTP library cannot produce; nil for none.
  var disturbance: Disturbance?

  /// Faults of the bytes on the wire.
  struct Disturbance: Equatable {
    var length = LengthPromise.actual
    /// The number of bytes after the body.
    var surplus: Int64 = 0
    var isEndless = false
    var end: End?
    var stall: Stall?
    var drip: Drip?
    var headDrip: Drip?
    /// The number of additional bytes in the head.
    var filling: Int64 = 0
  }

  /// An early end of the body.
  enum End: Hashable {
    /// Closes the connection before any byte.
    case closed
    /// Closes the connection after this many bytes of the body.
    case cut(Int64)
    /// Resets the connection after this many bytes of the body; nil resets before the head.
    case reset(Int64?)
  }

  struct Stall: Hashable {
    let offset: Int64
    /// Nil waits until the client leaves.
    let time: Duration?
  }

  struct Drip: Hashable {
    let bytes: Int64
    let time: Duration
  }
}

extension TransmissionFault {
  /// Changes how the response is sent; the later of two faults of one kind wins.
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

/// A running or waiting request for pieces.
struct PieceRequest {
  let handler: RangeHandler
  /// The requested pieces, by their numbers in the plan.
  let pieces: [Int]
  let mirror: Int
  let isWhole: Bool
  /// See `ExchangeRequest.usesSecondConnection`.
  let usesSecondConnection: Bool
  var id = 0
  /// The uptime at which it was submitted.
  let askedAt: Double
  var delivered = 0
  /// The number of its wrong pieces.
  var wrong = 0
  /// Whether no byte has arrived for a while.
  var isIdle = false
  /// The bytes of its first piece that came from another request.
  let bytesBefore: Int
  /// The incomplete piece at the time when the request became idle.
  var partial: PartialPiece?
  /// Whether it was cancelled because another mirror is faster.
  var isLeft = false
}

extension PieceRequest {
  /// Whether it has at least `minimum` more bytes of a piece than the previous request.
  func isAhead(by minimum: Int64) -> Bool {
    partial.map { $0.index > 0 || Int64($0.bytes.count - bytesBefore) >= minimum } ?? false
  }

  /// Returns the bytes that it has of the first piece of `missing`.
  func beginning(of missing: [Int]) -> [UInt8] {
    guard let partial, pieces[partial.index] == missing.first else { return [] }
    return partial.bytes
  }
}

extension Sequence<PieceRequest> {
  /// Whether another request for `count` bytes uses the second connection to its host.
  ///
  /// A connection delivers at most its window per round trip, for all requests that share it. For
  /// few bytes, another connection is not worth its handshake.
  func useSecondConnection(for count: Int) -> Bool {
    count >= 4 << 20 && reduce(0) { $0 + ($1.usesSecondConnection ? -1 : 1) } > 0
  }
}

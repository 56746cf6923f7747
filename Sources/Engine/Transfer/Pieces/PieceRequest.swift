/// A running or waiting request for pieces.
struct PieceRequest {
  let handler: RangeHandler
  /// The requested pieces, by their numbers in the plan.
  let pieces: [Int]
  let mirror: Int
  let exchange: ExchangeRequest
  var id = 0
  /// The uptime at which it was submitted.
  let askedAt: Double
  var delivered = 0
  /// The number of its wrong pieces.
  var wrong = 0
  /// Whether no byte has arrived for a while.
  var isIdle = false
  /// The bytes of its first piece that came with the idle request before it.
  var bytesBefore = 0
  /// The incomplete piece at the time when the request became idle.
  var partial: PartialPiece?
  /// Whether it was cancelled because another mirror is faster.
  var isLeft = false
}

extension PieceRequest {
  /// A request can be continued if it brought at least one part in this many of its first piece.
  private static let minimumShare = 20

  /// Whether it brought enough of its first piece for another request to continue it.
  ///
  /// `pieces` are the pieces of the plan. The share limits the number of requests for one piece, so
  /// that a server that sends a few bytes per request is given up. Complete pieces count when they
  /// are verified.
  func isAhead(in pieces: [Piece], _ configuration: HTTPConfiguration) -> Bool {
    guard let partial, partial.index == 0 else { return false }
    let share = pieces[self.pieces[0]].length / Self.minimumShare
    return Int64(partial.bytes.count - bytesBefore) >= max(configuration.minimumBytes, Int64(share))
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
    count >= 4 << 20 && reduce(0) { $0 + ($1.exchange.usesSecondConnection ? -1 : 1) } > 0
  }
}

/// A request of a fetch of pieces, under way or waiting.
struct PieceRequest {
  let handler: RangeHandler
  /// The pieces that it asks for, by their number in the plan.
  let pieces: [Int]
  let mirror: Int
  let isWhole: Bool
  /// As `ExchangeRequest.usesSecondConnection`.
  let usesSecondConnection: Bool
  var id = 0
  /// When it was asked for.
  let askedAt: Double
  var delivered = 0
  /// Its pieces that were wrong.
  var wrong = 0
  /// Whether nothing has come for a while.
  var isIdle = false
  /// How many bytes of its first piece came with another request.
  let bytesBefore: Int
  /// What it has of a piece that is not whole, since it was found idle.
  var partial: PartialPiece?
  /// Whether it was cancelled because another mirror is faster.
  var isLeft = false
}

extension PieceRequest {
  /// Whether it has at least `minimum` bytes more of a piece than came with the request before it.
  func isAhead(by minimum: Int64) -> Bool {
    partial.map { $0.index > 0 || Int64($0.bytes.count - bytesBefore) >= minimum } ?? false
  }

  /// The bytes that it has of the first of `missing`, if there are any.
  func beginning(of missing: [Int]) -> [UInt8] {
    guard let partial, pieces[partial.index] == missing.first else { return [] }
    return partial.bytes
  }
}

extension Sequence<PieceRequest> {
  /// Whether a further request for `count` bytes uses the second connection to its host.
  ///
  /// In a round trip a connection brings no more than its window, however many requests share it.
  /// For little, another connection is not worth its handshake.
  func useSecondConnection(for count: Int) -> Bool {
    count >= 4 << 20 && reduce(0) { $0 + ($1.usesSecondConnection ? -1 : 1) } > 0
  }
}

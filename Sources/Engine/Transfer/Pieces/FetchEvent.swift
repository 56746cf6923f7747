import HostedConcurrency

/// What a request of a fetch has brought.
enum FetchEvent: Sendable {
  /// Complete pieces of a request.
  case pieces(request: Int, Slab)
  /// A request is idle.
  ///
  /// Its complete pieces were delivered before. The partial piece contains the received bytes of
  /// the next piece.
  case idle(request: Int, PartialPiece?)
  /// A request has ended with `received` bytes; all its pieces were delivered before.
  case ended(request: Int, ExchangeEnd, received: Int64)
  /// A renewal of the URLs has ended.
  case authorized
  /// The ticket was cancelled.
  case cancelled
}

/// A queue of events from the loop to a worker; the slabs that a request may use limit its length.
typealias Handover = BlockingQueue<FetchEvent>

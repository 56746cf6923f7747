import HostedHTTPValues
import HostedConcurrency

/// Receives the answer for one range on the loop's thread, and passes its pieces to the worker.
///
/// Unchecked, because its variables belong to the loop's thread, except for the room, which has a
/// lock.
final class RangeHandler: ExchangeHandler, @unchecked Sendable {
  /// The request's number in the fetch.
  let number: Int
  private let question: RangeQuestion
  private let slabs: SlabPool
  private let slabLength: Int
  private let handover: Handover
  private let clock: EngineClock
  private var assembler: PieceAssembler
  private var received: Int64 = 0
  private let room: Mutex<Room>

  private struct Room {
    /// The number of slabs that may still be taken.
    var free: Int
    /// Whether the request waits for a slab.
    var isAwaited = false
  }

  /// Creates a handler; `sizes` limits its memory, `beginning` are bytes of the first piece.
  init(
    _ number: Int, _ pieces: [Piece], beginning: [UInt8] = [], question: RangeQuestion,
    sizes: SlabSizes, slabs: SlabPool, handover: Handover, clock: EngineClock
  ) {
    self.number = number
    self.question = question
    self.slabs = slabs
    self.handover = handover
    self.clock = clock
    slabLength = sizes.length
    assembler = PieceAssembler(pieces, beginning: beginning)
    room = Mutex(Room(free: sizes.count))
  }

  // MARK: The loop's thread

  func receive(_ head: HTTPHead) -> TransferFault? {
    do {
      assembler.begin(try RangeAnswer.judge(head, question, now: clock.now()))
      return nil
    } catch {
      return error
    }
  }

  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer {
    let answer = assembler.take(body, room: takeSlab, full: handOver)
    if case .wait = answer { return answer }
    received += Int64(body.count)
    return answer
  }

  func idle() -> TransferFault? {
    // Complete pieces need not be requested again.
    if let slab = assembler.handOverPieces() { handOver(slab) }
    handover.add(.idle(request: number, assembler.partial))
    return nil
  }

  func end(_ end: ExchangeEnd) {
    if let slab = assembler.endBody() { handOver(slab) }
    handover.add(.ended(request: number, end, received: received))
  }

  private func takeSlab(_ capacity: Int) -> Slab? {
    let mayTake = room.withLock { room in
      room.isAwaited = room.free == 0
      if room.free > 0 { room.free -= 1 }
      return !room.isAwaited
    }
    return mayTake ? slabs.take(capacity: max(capacity, slabLength)) : nil
  }

  private func handOver(_ slab: Slab) { handover.add(.pieces(request: number, slab)) }

  // MARK: The worker's thread

  /// Returns a slab; the result is true if the request waits for it and must be resumed.
  func giveBack(_ slab: Slab) -> Bool {
    slabs.giveBack(slab)
    return room.withLock { room in
      room.free += 1
      defer { room.isAwaited = false }
      return room.isAwaited
    }
  }
}

import Glibc
package import HostedConcurrency
package import HostedFileIO
package import HostedModel

/// A store in a folder: `file://`, a mount or a network share.
package struct FolderPieceSource: PieceSource {
  /// The reads of a piece before it counts as damaged, since a network share may recover.
  private static let attempts = 5

  private let store: Directory
  private let rate: FolderRate

  package init(store: Directory, rate: FolderRate) {
    self.store = store
    self.rate = rate
  }

  package func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    let pieces = try pieces.sorted(within: file)
    let bytes = try open(file)
    // A longer file is not the signed one, even if all signed bytes are correct.
    guard try bytes.status().size <= file.length else {
      throw ContentError(
        .digestMismatch, "\(file.path) is longer than its signed length of \(file.length) bytes",
        remedy: "Ask the store's owner to publish the package again", subject: file.path)
    }
    let slabs = SlabPool()
    for piece in pieces {
      try rate.wait(for: piece.length, ticket)
      let loan = SlabLoan(slabs.take(capacity: piece.length)) { slabs.giveBack($0) }
      let target = UnsafeMutableRawBufferPointer(rebasing: loan.slab.memory[..<piece.length])
      try Self.read(piece, of: file, from: bytes, into: target)
      ticket.counters.record { $0.bytesFetched += Int64(piece.length) }
      try deliver(piece, LentBytes(UnsafeRawBufferPointer(target), from: loan))
    }
  }

  private func open(_ file: SignedFile) throws -> File {
    let components = file.path.pathComponents()
    do {
      return try store.directory(at: components.dropLast()).file(components.last ?? "")
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError(
        .storeMissing, "\(file.path) not found in the store \(store.path), although it is signed",
        remedy: "Ask the store's owner to publish the package again", subject: file.path)
    }
  }

  private static func read(
    _ piece: Piece, of file: SignedFile, from bytes: borrowing File,
    into target: UnsafeMutableRawBufferPointer
  ) throws {
    for _ in 0..<attempts {
      let count = try bytes.read(into: target, at: piece.offset)
      let found = UnsafeRawBufferPointer(rebasing: target[..<count])
      if try piece.matches(found) { return }
    }
    throw ContentError.damaged(piece, of: file, attempts: attempts)
  }
}

/// The rate limit of a store in a folder.
///
/// All transfers of a queue share it. Use it from any thread.
package final class FolderRate: Sendable {
  private let limiter: Mutex<RateLimiter>
  private let clock: EngineClock
  private let sleep: @Sendable (Double) -> Void

  /// The maximum sleep in seconds, so that a cancelled transfer ends soon.
  private static let longestSleep = 0.1
  /// The name of the folder as a host, whose limit also applies.
  private static let origin = "file://"

  /// Creates a limit; tests pass a clock and a function that sleeps for a number of seconds.
  package init(
    _ limits: TransferLimits, clock: EngineClock = .system,
    sleep: @escaping @Sendable (Double) -> Void = { usleep(UInt32($0 * 1e6)) }
  ) {
    limiter = Mutex(RateLimiter(limits, at: clock.uptime()))
    self.clock = clock
    self.sleep = sleep
  }

  /// The limits; a change applies at once, also to running transfers.
  package var limits: TransferLimits {
    get { limiter.withLock { $0.limits } }
    set { limiter.withLock { $0.setLimits(newValue, at: clock.uptime()) } }
  }

  /// Waits until `count` more bytes may be read; throws `stopped` soon after `ticket` is cancelled.
  func wait(for count: Int, _ ticket: TransferTicket) throws {
    while true {
      try ticket.checkCancelled()
      let seconds = limiter.withLock { limiter in
        let now = clock.uptime()
        let seconds = limiter.wait(for: Self.origin, at: now)
        if seconds == 0 { limiter.take(count, for: Self.origin, at: now) }
        return seconds
      }
      if seconds == 0 { return }
      sleep(min(seconds, Self.longestSleep))
    }
  }
}

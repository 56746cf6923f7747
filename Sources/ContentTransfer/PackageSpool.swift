package import ContentModel
import Dispatch
import Digests
package import FileIO
import Locks

/// A package while it is fetched: a file in staging whose blocks are checked one by one.
///
/// Which blocks are there is not written down: after a pause, a crash or a power failure each block
/// is hashed again, so a torn write is only a block that is fetched once more. Blocks are checked
/// again when they are read, since the disk is not trusted either. One thread may read while another
/// fetches; the reader waits for blocks that are on their way.
package final class PackageSpool: @unchecked Sendable {
  // Unchecked, because `buffer` and `loaded` are used by the one thread that reads, and `file` takes
  // reads and writes at offsets from any thread.

  /// The spool's name in its staging folder.
  package static let fileName = "package"

  private let file: File
  private let package: SignedFile
  private let index: PackageIndex
  private let state: Mutex<State>
  private let arrival = DispatchSemaphore(value: 0)
  /// The block that was read last; reading goes on in it mostly.
  private var loaded: Int?
  private let buffer: UnsafeMutableRawBufferPointer
  /// Fetches a block that was given up and is needed all the same.
  private var fetchOne: ((Int) throws -> Void)?

  private struct State {
    var hasBlock: [Bool]
    var isGivenUp: [Bool]
    /// Whether what is missing is on its way, or soon will be.
    var isFetching = true
    /// The block that the reader waits for.
    var awaited: Int?
    /// Why nobody reads any more, or why nothing more will come.
    var readError: (any Error)?
    var fetchError: (any Error)?
  }

  /// Opens or creates the spool in `staging` and checks what is in it.
  ///
  /// Throws `digestMismatch` when the index contradicts itself or the promised length. `isStopped`
  /// is asked before each block.
  package init(
    in staging: Directory, of package: SignedFile, index: PackageIndex,
    isStopped: () throws -> Void = {}
  ) throws {
    guard index.isConsistent, index.packageLength == package.length else {
      throw ContentError(
        .digestMismatch, "The index of \(package.path) does not describe a package of its length",
        remedy: "Ask the store's owner to publish it again", subject: package.path)
    }
    file = try staging.updatedFile(Self.fileName, mode: 0o600)
    self.package = package
    self.index = index
    let none = Array(repeating: false, count: index.blocks.count)
    state = Mutex(State(hasBlock: none, isGivenUp: none))
    buffer = .allocate(byteCount: index.blockLength, alignment: 4096)
    try findBlocks(isStopped)
  }

  deinit { buffer.deallocate() }

  /// Bytes of the blocks that are there and right.
  package var verifiedBytes: Int64 { bytes(state.withLock { $0.hasBlock }) }

  private func bytes(_ isCounted: [Bool]) -> Int64 {
    isCounted.indices.reduce(0) { $0 + (isCounted[$1] ? length(of: $1) : 0) }
  }

  private func findBlocks(_ isStopped: () throws -> Void) throws {
    let size = try file.status().size
    for number in index.blocks.indices where index.range(ofBlock: number).upperBound <= size {
      try isStopped()
      let piece = try piece(number) { try file.read(into: $0, at: $1) }
      let isRight = try piece.map(isRight(number)) ?? false
      state.withLock { $0.hasBlock[number] = isRight }
    }
  }

  // MARK: Fetching

  /// Fetches what is missing; `progress` gets the bytes of each piece once it is there.
  ///
  /// Throws what the source throws, such as `pieceDamaged` when a piece stays wrong, what `progress`
  /// throws, which is how a caller stops it, beside cancelling `ticket`, and what `stopFetching` was
  /// told. What was verified stays. Whoever waits for a block hears of the error too.
  package func fetchMissing(
    from source: any PieceSource, ticket: TransferTicket, progress: (Int64) throws -> Void
  ) throws {
    let missing = state.withLock { state in
      state.hasBlock.indices.filter { !state.hasBlock[$0] }
    }
    do {
      try fetch(missing, from: source, ticket: ticket, progress: progress)
      endFetching(nil)
    } catch {
      endFetching(error)
      throw error
    }
  }

  private func fetch(
    _ numbers: [Int], from source: any PieceSource, ticket: TransferTicket,
    progress: (Int64) throws -> Void
  ) throws {
    guard !numbers.isEmpty else { return }
    try source.fetch(numbers.map(index.piece), of: package, ticket: ticket) { piece, bytes in
      if let error = state.withLock({ $0.readError }) { throw error }
      try bytes.withBytes { try file.write($0, at: piece.offset) }
      arrived(Int(piece.offset / Int64(index.blockLength)))
      try progress(Int64(piece.length))
    }
  }

  private func arrived(_ number: Int) {
    let isAwaited = state.withLock { state in
      state.hasBlock[number] = true
      state.isGivenUp[number] = false
      guard state.awaited == number else { return false }
      state.awaited = nil
      return true
    }
    if isAwaited { arrival.signal() }
  }

  private func endFetching(_ error: (any Error)?) {
    let isAwaited = state.withLock { state in
      state.isFetching = false
      state.fetchError = error
      defer { state.awaited = nil }
      return state.awaited != nil
    }
    if isAwaited { arrival.signal() }
  }

  /// Ends the fetch with `error` at its next piece, because nobody reads any more.
  package func stopFetching(_ error: any Error) { state.withLock { $0.readError = error } }

  /// Lets blocks that were given up, and turn out to be needed, be fetched again from `source`.
  package func refetch(
    from source: any PieceSource, ticket: TransferTicket,
    progress: @escaping (Int64) throws -> Void
  ) {
    fetchOne = { [unowned self] in
      try fetch([$0], from: source, ticket: ticket, progress: progress)
    }
  }

  // MARK: Giving up

  /// Bytes of a block; the last may be shorter.
  package var blockLength: Int { index.blockLength }

  /// Bytes of the blocks that were not given up.
  package var heldBytes: Int64 { bytes(state.withLock { $0.isGivenUp.map { !$0 } }) }

  /// Says that what is missing was given up by an earlier process, and is not to be fetched.
  package func giveUpMissing() {
    state.withLock { state in
      state.isGivenUp = state.hasBlock.map { !$0 }
      state.isFetching = false
    }
  }

  /// Gives the disk back the blocks that are not `needed`.
  ///
  /// Those at the end are cut off; of those in the middle a file system that knows no holes keeps
  /// the room.
  package func giveUp(keeping needed: [Int]) throws {
    let needed = Set(needed)
    let last = needed.max() ?? -1
    try file.truncate(to: last < 0 ? 0 : index.range(ofBlock: last).upperBound)
    for number in 0..<max(0, last) where !needed.contains(number) {
      guard state.withLock({ $0.hasBlock[number] }) else { continue }
      let range = index.range(ofBlock: number)
      guard try file.punchHole(range) else { break }
    }
    if let loaded, !needed.contains(loaded) { self.loaded = nil }
    state.withLock { state in
      for number in state.hasBlock.indices where !needed.contains(number) {
        state.hasBlock[number] = false
        state.isGivenUp[number] = true
      }
    }
  }

  /// The bytes of block `number` as `read` finds them in `buffer`; nil when there are too few.
  private func piece(_ number: Int, read: (UnsafeMutableRawBufferPointer, Int64) throws -> Int)
    throws -> UnsafeMutableRawBufferPointer?
  {
    let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(length(of: number))])
    let count = try read(piece, index.range(ofBlock: number).lowerBound)
    return count == piece.count ? piece : nil
  }

  private func isRight(_ number: Int) -> (UnsafeMutableRawBufferPointer) throws -> Bool {
    { piece in try Digest(of: UnsafeRawBufferPointer(piece)) == self.index.blocks[number] }
  }

  private func length(of number: Int) -> Int64 { Int64(index.range(ofBlock: number).count) }

  // MARK: Reading

  /// Bytes of the package.
  package var length: Int64 { package.length }

  /// Reads verified bytes at `offset`: up to the end of their block, 0 at the package's end.
  ///
  /// Waits for a block that is being fetched. Throws what ended the fetch when the block did not
  /// come, and `pieceDamaged` when the disk returns other bytes than were written; the block is
  /// fetched again by the next start.
  package func read(into target: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    guard offset >= 0, offset < package.length else { return 0 }
    let number = Int(offset / Int64(index.blockLength))
    try load(number)
    let range = index.range(ofBlock: number)
    let available = buffer[Int(offset - range.lowerBound)..<Int(range.count)]
    let count = min(available.count, target.count)
    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: available.prefix(count)))
    return count
  }

  private func load(_ number: Int) throws {
    guard loaded != number else { return }
    loaded = nil
    try wait(for: number)
    let piece = try piece(number) { try file.read(into: $0, at: $1) }
    guard let piece, try isRight(number)(piece) else {
      throw ContentError(
        .pieceDamaged, "A verified piece of \(package.path) was read back with other bytes",
        remedy: "Check the disk, and start the download again", subject: package.path)
    }
    loaded = number
  }

  private enum Presence {
    case there, onItsWay, missing
  }

  /// Waits until block `number` is there; one that nobody fetches is fetched now.
  private func wait(for number: Int) throws {
    while true {
      let presence = try state.withLock { state -> Presence in
        if state.hasBlock[number] { return .there }
        if let error = state.fetchError { throw error }
        guard state.isFetching else { return .missing }
        state.awaited = number
        return .onItsWay
      }
      switch presence {
      case .there: return
      case .onItsWay: arrival.wait()
      case .missing:
        guard let fetchOne else {
          throw ContentError(
            .pieceDamaged, "A piece of \(package.path) is missing",
            remedy: "Start the download again", subject: package.path)
        }
        try fetchOne(number)
      }
    }
  }
}

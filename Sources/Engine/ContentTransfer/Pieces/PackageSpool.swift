package import ContentModel
import Dispatch
import Digests
package import FileIO
import Concurrency

/// A package while it is fetched: a file in staging whose blocks are checked one by one.
///
/// Which blocks are there is not written down: after a pause, a crash or a power failure each block
/// is hashed again, so a torn write is only a block that is fetched once more. Blocks are checked
/// again when they are read, since the disk is not trusted either. One thread may read while
/// another fetches; the reader waits for blocks that are on their way.
package final class PackageSpool: @unchecked Sendable {
  // Unchecked, because `buffer` and `loaded` are used by one thread at a time, which reads, and
  // `file` takes reads and writes at offsets from any thread.

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

  private struct State {
    var hasBlock: [Bool]
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
    state = Mutex(State(hasBlock: Array(repeating: false, count: index.blocks.count)))
    buffer = .allocate(byteCount: index.blockLength, alignment: 4096)
    try findBlocks(isStopped)
  }

  deinit { buffer.deallocate() }

  /// Bytes of the blocks that are there and right.
  package var verifiedBytes: Int64 {
    let hasBlock = state.withLock { $0.hasBlock }
    return hasBlock.indices.reduce(0) { $0 + (hasBlock[$1] ? length(of: $1) : 0) }
  }

  private func findBlocks(_ isStopped: () throws -> Void) throws {
    let size = try file.status().size
    for number in index.blocks.indices where index.range(ofBlock: number).upperBound <= size {
      try isStopped()
      let isVerified = try readVerified(number)
      state.withLock { $0.hasBlock[number] = isVerified }
    }
  }

  // MARK: Fetching

  /// Fetches what is missing; `progress` gets the bytes of each piece once it is there.
  ///
  /// Throws what the source throws, such as `pieceDamaged` when a piece stays wrong, what
  /// `progress` throws, which is how a caller stops it, beside cancelling `ticket`, and what
  /// `stopFetching` was told. What was verified stays. Whoever waits for a block hears of the error
  /// too.
  package func fetchMissing(
    from source: any PieceSource, ticket: TransferTicket, progress: (Int64) throws -> Void
  ) throws {
    let missing = state.withLock { state in
      state.hasBlock.indices.filter { !state.hasBlock[$0] }
    }
    do {
      if !missing.isEmpty {
        try source.fetch(missing.map(index.piece), of: package, ticket: ticket) { piece, bytes in
          if let error = state.withLock({ $0.readError }) { throw error }
          try bytes.withBytes { try file.write($0, at: piece.offset) }
          arrived(Int(piece.offset / Int64(index.blockLength)))
          try progress(Int64(piece.length))
        }
      }
      endFetching(nil)
    } catch {
      endFetching(error)
      throw error
    }
  }

  private func arrived(_ number: Int) {
    let isAwaited = state.withLock { state in
      state.hasBlock[number] = true
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

  // MARK: Reading

  /// Reads block `number` into `buffer`; false if it is not what the index promises.
  private func readVerified(_ number: Int) throws -> Bool {
    let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(length(of: number))])
    let count = try file.read(into: block, at: index.range(ofBlock: number).lowerBound)
    return try count == block.count
      && Digest(of: UnsafeRawBufferPointer(block)) == index.blocks[number]
  }

  private func length(of number: Int) -> Int64 { Int64(index.range(ofBlock: number).count) }

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
    guard try readVerified(number) else {
      throw ContentError(
        .pieceDamaged, "A verified piece of \(package.path) was read back with other bytes",
        remedy: "Check the disk, and start the download again", subject: package.path)
    }
    loaded = number
  }

  /// Waits until block `number` is there; throws why it will not come.
  private func wait(for number: Int) throws {
    while true {
      let isThere = try state.withLock { state in
        if state.hasBlock[number] { return true }
        if let error = state.fetchError { throw error }
        guard state.isFetching else { throw missing }
        state.awaited = number
        return false
      }
      if isThere { return }
      arrival.wait()
    }
  }

  private var missing: ContentError {
    ContentError(
      .pieceDamaged, "A piece of \(package.path) is missing",
      remedy: "Start the download again", subject: package.path)
  }
}

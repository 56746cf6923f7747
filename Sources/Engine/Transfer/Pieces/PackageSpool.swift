package import HostedModel
import HostedDigests
package import HostedFileIO
import HostedConcurrency

/// A package that is being fetched: a file in staging whose blocks are verified separately.
///
/// The list of complete blocks is not stored. After a pause, a crash or a power failure, each block
/// is hashed again, so a torn write only means that a block is fetched again. Blocks are also
/// verified when they are read, since the disk is not trusted. One thread may read while another
/// one fetches. The reader waits for missing blocks.
package final class PackageSpool: @unchecked Sendable {
  // Unchecked, because only the reading thread uses `buffer` and `loaded`, and `file` supports
  // reads and writes at offsets from any thread.

  /// The name of the spool file in its staging folder.
  package static let fileName = "package"

  private let file: File
  private let package: SignedFile
  private let index: PackageIndex
  private let state: Mutex<State>
  /// The blocks in the order in which they arrive; closed when no more arrive.
  private let arrivals = BlockingQueue<Int>()
  /// The last block that was read; most reads continue in it.
  private var loaded: Int?
  private let buffer: UnsafeMutableRawBufferPointer

  private struct State {
    var hasBlock: [Bool]
    /// The ticket of the fetch; nil before it starts and after it ends.
    var ticket: TransferTicket?
    /// The errors that ended reading and fetching.
    var readError: (any Error)?
    var fetchError: (any Error)?
  }

  /// Opens or creates the spool file in `staging`, and verifies its blocks.
  ///
  /// Throws `digestMismatch` if the index is inconsistent or does not match the package's length.
  /// `isStopped` is called before each block.
  package init(
    in staging: Directory, of package: SignedFile, index: PackageIndex,
    isStopped: () throws -> Void = {}
  ) throws {
    guard index.isConsistent, index.packageLength == package.length else {
      throw ContentError(
        .digestMismatch, "The index of \(package.path) does not match the length of the package",
        remedy: "Ask the store's owner to publish the package again", subject: package.path)
    }
    file = try staging.updatedFile(Self.fileName, mode: 0o600)
    self.package = package
    self.index = index
    state = Mutex(State(hasBlock: Array(repeating: false, count: index.blocks.count)))
    buffer = .allocate(byteCount: index.blockLength, alignment: 4096)
    try findBlocks(isStopped)
  }

  deinit { buffer.deallocate() }

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

  /// Fetches the missing blocks.
  ///
  /// `progress` gets the bytes of each block after it was written. Throws the errors of the source,
  /// such as `pieceDamaged`, those of `progress`, and the error passed to `stopFetching`. To stop
  /// the fetch, throw from `progress` or cancel `ticket`. Verified blocks are kept. A waiting
  /// reader gets the same error.
  package func fetchMissing(
    from source: any PieceSource, ticket: TransferTicket, progress: (Int64) throws -> Void
  ) throws {
    do {
      let missing = try state.withLock { state in
        if let error = state.readError { throw error }
        state.ticket = ticket
        return state.hasBlock.indices.filter { !state.hasBlock[$0] }
      }
      if !missing.isEmpty {
        try source.fetch(missing.map(index.piece), of: package, ticket: ticket) { piece, bytes in
          if let error = state.withLock({ $0.readError }) { throw error }
          try bytes.withBytes { try file.write($0, at: piece.offset) }
          let number = Int(piece.offset / Int64(index.blockLength))
          state.withLock { $0.hasBlock[number] = true }
          arrivals.add(number)
          try progress(Int64(piece.length))
        }
      }
      endFetching(nil)
    } catch {
      endFetching(error)
      throw error
    }
  }

  private func endFetching(_ error: (any Error)?) {
    state.withLock { state in
      state.ticket = nil
      state.fetchError = error
    }
    arrivals.close()
  }

  /// Ends the fetch with `error` and cancels its ticket, because the reader has ended.
  package func stopFetching(_ error: any Error) {
    let ticket = state.withLock { state in
      state.readError = error
      return state.ticket
    }
    ticket?.cancel(throwing: error)
  }

  // MARK: Reading

  /// Reads block `number` into `buffer`; returns false if it does not match the index.
  private func readVerified(_ number: Int) throws -> Bool {
    let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(length(of: number))])
    let count = try file.read(into: block, at: index.range(ofBlock: number).lowerBound)
    return try count == block.count
      && Digest(of: UnsafeRawBufferPointer(block)) == index.blocks[number]
  }

  private func length(of number: Int) -> Int64 { Int64(index.range(ofBlock: number).count) }

  package var length: Int64 { package.length }

  /// Reads verified bytes at `offset`, up to the end of their block.
  ///
  /// Returns 0 at the end. Waits for a block that is being fetched. Throws the error that ended the
  /// fetch if the block is missing, and `pieceDamaged` if the disk returns other bytes than were
  /// written. The next start fetches the block again.
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
        .pieceDamaged, "A verified piece of \(package.path) has changed on disk",
        remedy: "Check the disk and start the download again", subject: package.path)
    }
    loaded = number
  }

  /// Waits for block `number`; throws if it will not arrive.
  private func wait(for number: Int) throws {
    while !state.withLock({ $0.hasBlock[number] }) {
      // All, because most blocks arrive before the reader needs them.
      guard arrivals.takeAll().isEmpty else { continue }
      if let error = state.withLock({ $0.fetchError }) { throw error }
      throw ContentError(
        .pieceDamaged, "A piece of \(package.path) is missing",
        remedy: "Start the download again", subject: package.path)
    }
  }
}

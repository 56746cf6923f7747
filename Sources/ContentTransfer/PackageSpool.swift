package import ContentModel
import Digests
package import FileIO

/// A package while it is fetched: a file in staging whose blocks are checked one by one.
///
/// Which blocks are there is not written down: after a pause, a crash or a power failure each block
/// is hashed again, so a torn write is only a block that is fetched once more. Blocks are checked
/// again when they are read, since the disk is not trusted either. For one thread.
package final class PackageSpool {
  /// The spool's name in its staging folder.
  package static let fileName = "package"

  private let file: File
  private let package: SignedFile
  private let index: PackageIndex
  private var hasBlock: [Bool]
  /// The block that was read last; reading goes on in it mostly.
  private var loaded: Int?
  private let buffer: UnsafeMutableRawBufferPointer

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
    hasBlock = Array(repeating: false, count: index.blocks.count)
    buffer = .allocate(byteCount: index.blockLength, alignment: 4096)
    try findBlocks(isStopped)
  }

  deinit { buffer.deallocate() }

  /// Bytes of the blocks that are there and right.
  package var verifiedBytes: Int64 {
    hasBlock.indices.reduce(0) { $0 + (hasBlock[$1] ? length(of: $1) : 0) }
  }

  private func findBlocks(_ isStopped: () throws -> Void) throws {
    let size = try file.status().size
    for number in hasBlock.indices where index.range(ofBlock: number).upperBound <= size {
      try isStopped()
      let piece = try piece(number) { try file.read(into: $0, at: $1) }
      hasBlock[number] = try piece.map(isRight(number)) ?? false
    }
  }

  /// Fetches what is missing; `progress` gets the bytes of each piece once it is there.
  ///
  /// Throws what the source throws, such as `pieceDamaged` when a piece stays wrong, and what
  /// `progress` throws, which is how a caller stops it, beside cancelling `ticket`. What was
  /// verified stays.
  package func fetchMissing(
    from source: any PieceSource, ticket: TransferTicket, progress: (Int64) throws -> Void
  ) throws {
    let missing = hasBlock.indices.filter { !hasBlock[$0] }
    guard !missing.isEmpty else { return }
    try source.fetch(missing.map(index.piece), of: package, ticket: ticket) { piece, bytes in
      try file.write(bytes, at: piece.offset)
      hasBlock[Int(piece.offset / Int64(index.blockLength))] = true
      try progress(Int64(piece.length))
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
  /// Throws `pieceDamaged` when the disk returns other bytes than were written; the block is
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
    let piece = try piece(number) { try file.read(into: $0, at: $1) }
    guard let piece, try isRight(number)(piece) else {
      throw ContentError(
        .pieceDamaged, "A verified piece of \(package.path) was read back with other bytes",
        remedy: "Check the disk, and start the download again", subject: package.path)
    }
    loaded = number
  }
}

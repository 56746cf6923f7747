package import HostedModel
package import HostedFileIO

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

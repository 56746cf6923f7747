package import HostedModel
package import HostedFileIO

/// A small file in memory that was completely verified.
///
/// Unchecked, because the memory does not change after `init`.
package final class WholeFile: PieceSource, @unchecked Sendable {
  private let file: SignedFile
  private let memory: UnsafeMutableRawBufferPointer

  /// Fetches all of `file`; throws the errors of `PieceSource.contents`.
  package init(_ file: SignedFile, from source: any PieceSource, ticket: TransferTicket) throws {
    let bytes = try source.contents(of: file, limit: file.length, ticket: ticket)
    self.file = file
    memory = .allocate(byteCount: bytes.count, alignment: 16)
    memory.copyBytes(from: bytes)
  }

  deinit { memory.deallocate() }

  /// The length in bytes.
  package var length: Int64 { Int64(memory.count) }

  /// Copies up to `buffer.count` bytes at `offset`, and returns their number, 0 after the end.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
    guard offset < length else { return 0 }
    let rest = memory[Int(offset)...].prefix(buffer.count)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest))
    return rest.count
  }

  package func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    for piece in try pieces.sorted(within: self.file) {
      let range = Int(piece.offset)..<Int(piece.end)
      let bytes = UnsafeRawBufferPointer(rebasing: memory[range])
      // An index from the store may be inconsistent with the file.
      guard try piece.matches(bytes) else {
        throw ContentError.damaged(piece, of: self.file, attempts: 1)
      }
      try ticket.checkCancelled()
      try deliver(piece, LentBytes(bytes, from: self))
    }
  }
}

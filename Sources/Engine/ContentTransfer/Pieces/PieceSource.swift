package import ContentModel
package import FileIO

/// Where the pieces of a store's files come from.
package protocol PieceSource: Sendable {
  /// Fetches `pieces` of `file` and hands each over once it is verified, in any order.
  ///
  /// Blocks; `deliver` is called on the caller's thread, one call at a time, with bytes that are
  /// those of the signed digest. They may be kept for a while, by other threads, too; who keeps
  /// them bounds how much that is, since a source may wait for what it lent, or take more memory.
  /// What `deliver` throws ends the fetch. Throws `storeMissing` when the file is nowhere,
  /// `pieceDamaged` when a piece stays wrong, `stopped` soon after `ticket` was cancelled, and
  /// network and server errors. What was handed over before an error was right.
  func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws

  /// Bytes that fetching `pieces` of `file` moves when nothing fails, gaps between them included.
  func bytesMoved(by pieces: [Piece], of file: SignedFile) -> Int64

  /// Whether all of `file` comes sooner with one request than its index and its pieces with two.
  func isBestWhole(_ file: SignedFile) -> Bool
}

extension PieceSource {
  package func bytesMoved(by pieces: [Piece], of file: SignedFile) -> Int64 {
    pieces.reduce(0) { $0 + Int64($1.length) }
  }

  package func isBestWhole(_ file: SignedFile) -> Bool { false }
}

extension ContentError {
  static func notInStore(_ path: String, _ store: String) -> ContentError {
    ContentError(
      .storeMissing, "The store \(store) promises \(path), which is not there",
      remedy: "Ask the store's owner to publish it again", subject: path)
  }

  static func replaced(_ file: SignedFile) -> ContentError {
    ContentError(
      .pieceDamaged,
      "Every server has another file at \(file.path): several pieces differ from the signed index",
      remedy: "Ask the store's owner to publish the package again; start the download again then",
      subject: file.path)
  }

  static func damaged(_ piece: Piece, of file: SignedFile, attempts: Int) -> ContentError {
    ContentError(
      .pieceDamaged,
      "Bytes \(piece.offset) to \(piece.end - 1) of \(file.path) differ from the signed index, \(attempts) times",
      remedy: "Ask the store's owner to publish the package again; start the download again then",
      subject: file.path)
  }
}

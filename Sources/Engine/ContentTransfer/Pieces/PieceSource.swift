package import ContentModel
package import FileIO

/// Provides the pieces of a store's files.
package protocol PieceSource: Sendable {
  /// Fetches `pieces` of `file`, and delivers each verified piece, in any order.
  ///
  /// Blocks. Calls `deliver` on the caller's thread, one call at a time, with bytes that match the
  /// signed digest. Other threads may keep the bytes for a while, but must limit how many: a source
  /// may wait until lent bytes are returned, or allocate more memory. An error of `deliver` ends
  /// the fetch. Throws `storeMissing` if the file does not exist, `pieceDamaged` if a piece stays
  /// wrong, `stopped` soon after `ticket` is cancelled, and network and server errors. Pieces that
  /// were delivered before an error are correct.
  func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws

  /// Returns the bytes that `fetch` transfers for `pieces` without errors, including gaps.
  func bytesMoved(by pieces: [Piece], of file: SignedFile) -> Int64

  /// Whether one request for the whole file is faster than two for its index and its pieces.
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
      .storeMissing, "\(path) not found in the store \(store), although it is signed",
      remedy: "Ask the store's owner to publish the package again", subject: path)
  }

  static func replaced(_ file: SignedFile) -> ContentError {
    ContentError(
      .pieceDamaged,
      "Every server has a different file at \(file.path): several pieces do not match the signed "
        + "index",
      remedy:
        "Ask the store's owner to publish the package again, and then start the download again",
      subject: file.path)
  }

  static func damaged(_ piece: Piece, of file: SignedFile, attempts: Int) -> ContentError {
    ContentError(
      .pieceDamaged,
      "Bytes \(piece.offset) to \(piece.end - 1) of \(file.path) do not match the signed index "
        + "after \(attempts) attempts",
      remedy:
        "Ask the store's owner to publish the package again, and then start the download again",
      subject: file.path)
  }
}

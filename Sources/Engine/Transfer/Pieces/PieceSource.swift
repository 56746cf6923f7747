import HostedDigests
package import HostedFileIO
package import HostedModel

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

  /// Returns all bytes of a small `file` after its length and digest were verified.
  ///
  /// Throws `digestMismatch` for other bytes, `limitExceeded` if the signed length is more than
  /// `limit`, and the errors of `fetch`.
  package func contents(
    of file: SignedFile, limit: Int64, ticket: TransferTicket = TransferTicket()
  ) throws -> [UInt8] {
    // A service without a catalog may name any length, and a caller may take it as the limit.
    guard file.length >= 0, file.length <= min(limit, Int64(Piece.maximumLength)) else {
      throw ContentError(
        .limitExceeded,
        "\(file.path) has \(file.length) bytes; the limit is \(limit)",
        remedy: "Ask the store's owner to publish smaller packages", subject: file.path)
    }
    // The whole file is one piece. Its digest is signed like any other.
    let whole = Piece(offset: 0, length: Int(file.length), digest: file.digest)
    var bytes: [UInt8] = []
    do {
      try fetch([whole], of: file, ticket: ticket) { bytes = $1.withBytes { Array($0) } }
    } catch let error as ContentError where error.code == .pieceDamaged {
      throw ContentError(
        .digestMismatch, "\(file.path) does not match its signed length and digest",
        remedy: "Ask the store's owner to publish the package again", subject: file.path)
    }
    return bytes
  }
}

extension ContentError {
  private static let publishAgain =
    "Ask the store's owner to publish the package again, and then start the download again"

  static func replaced(_ file: SignedFile) -> ContentError {
    ContentError(
      .pieceDamaged,
      "Every server has a different file at \(file.path): several pieces do not match the signed "
        + "index",
      remedy: publishAgain, subject: file.path)
  }

  static func damaged(_ piece: Piece, of file: SignedFile, attempts: Int) -> ContentError {
    ContentError(
      .pieceDamaged,
      "Bytes \(piece.offset) to \(piece.end - 1) of \(file.path) do not match the signed index "
        + "after \(attempts) attempts",
      remedy: publishAgain, subject: file.path)
  }
}

/// A part of a file with a signed digest; it is fetched, verified and stored as a unit.
package struct Piece: Hashable, Sendable {
  /// The maximum length in bytes, since a piece is in memory until it is verified.
  package static let maximumLength = 64 << 20

  /// The start offset in the file, in bytes.
  package let offset: Int64
  /// The length in bytes.
  package let length: Int
  /// The SHA-256 digest of its bytes.
  package let digest: Digest

  package init(offset: Int64, length: Int, digest: Digest) {
    self.offset = offset
    self.length = length
    self.digest = digest
  }

  /// The offset after the last byte.
  package var end: Int64 { offset + Int64(length) }

  func matches(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    try bytes.count == length && Digest(of: bytes) == digest
  }
}

extension PackageIndex {
  func piece(_ number: Int) -> Piece {
    let range = range(ofBlock: number)
    return Piece(offset: range.lowerBound, length: range.count, digest: blocks[number])
  }
}

extension [Piece] {
  /// Returns the pieces, sorted by offset.
  ///
  /// Throws `storeDamaged` unless each piece has a valid length, is inside `file` and does not
  /// overlap others. Pieces come from an index of the store, so they are checked before use.
  func sorted(within file: SignedFile) throws -> [Piece] {
    let pieces = sorted { $0.offset < $1.offset }
    var end: Int64 = 0
    for piece in pieces {
      guard piece.offset >= end, (0...Piece.maximumLength).contains(piece.length),
        piece.offset <= file.length - Int64(piece.length)
      else {
        throw ContentError(
          .storeDamaged, "The index of \(file.path) contains invalid pieces",
          remedy: "Ask the store's owner to publish the package again", subject: file.path)
      }
      end = piece.end
    }
    return pieces
  }
}

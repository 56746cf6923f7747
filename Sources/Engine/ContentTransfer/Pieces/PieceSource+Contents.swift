package import ContentModel
import FileIO

extension PieceSource {
  /// Returns all bytes of a small `file` after its length and digest were verified.
  ///
  /// Throws `digestMismatch` for other bytes, `limitExceeded` if the signed length is more than
  /// `limit`, and the errors of `fetch`.
  package func contents(
    of file: SignedFile, limit: Int64, ticket: TransferTicket = TransferTicket()
  ) throws -> [UInt8] {
    guard (0...min(limit, Int64(Piece.maximumLength))).contains(file.length) else {
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

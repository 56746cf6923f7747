package import ContentModel
import FileIO

extension PieceSource {
  /// All bytes of `file` once its length and digest are right; for small files.
  ///
  /// Throws `digestMismatch` for other bytes, `limitExceeded` when more than `limit` are promised,
  /// and what `fetch` throws.
  package func contents(
    of file: SignedFile, limit: Int64, ticket: TransferTicket = TransferTicket()
  ) throws -> [UInt8] {
    guard (0...min(limit, Int64(Piece.maximumLength))).contains(file.length) else {
      throw ContentError(
        .limitExceeded,
        "\(file.path) has \(file.length) bytes, more than the \(limit) that are read",
        remedy: "Ask the store's owner to publish smaller packages", subject: file.path)
    }
    // The whole file is one piece: its digest is signed like that of any other.
    let whole = Piece(offset: 0, length: Int(file.length), digest: file.digest)
    var bytes: [UInt8] = []
    do {
      try fetch([whole], of: file, ticket: ticket) { bytes = $1.withBytes { Array($0) } }
    } catch let error as ContentError where error.code == .pieceDamaged {
      throw ContentError(
        .digestMismatch, "\(file.path) differs from its signed length and digest",
        remedy: "Ask the store's owner to publish it again", subject: file.path)
    }
    return bytes
  }
}

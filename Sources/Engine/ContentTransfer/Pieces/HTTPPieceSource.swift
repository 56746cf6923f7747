package import ContentModel
package import FileIO

/// A store on the web, at one address or at several that hold the same.
package struct HTTPPieceSource: PieceSource {
  /// The session that it shares with others.
  package let session: HTTPSession
  /// Where the store's folder is, in order of preference; not empty.
  package let mirrors: [WebURL]

  /// Throws `usage` when there is no mirror.
  package init(_ session: HTTPSession, mirrors: [WebURL]) throws {
    guard !mirrors.isEmpty else {
      throw ContentError(.usage, "No address of the store is given", remedy: "Give at least one")
    }
    self.session = session
    self.mirrors = mirrors
  }

  package func bytesMoved(by pieces: [Piece], of file: SignedFile) -> Int64 {
    guard let pieces = try? pieces.sorted(within: file) else { return file.length }
    var plan = FetchPlan(pieces.filter { $0.length > 0 })
    var bytes: Int64 = 0
    let connections = session.connections(to: mirrors[0]).count
    while let numbers = plan.next(connections: connections) {
      bytes +=
        plan.isWhole(numbers, of: file.length)
        ? file.length : Int64(plan.span(of: numbers).count)
    }
    return bytes
  }

  /// A file of this length takes two round trips of 100 ms at 10 Mbit/s; bytes.
  private static let wholeLimit: Int64 = 256 << 10

  package func isBestWhole(_ file: SignedFile) -> Bool {
    file.length <= Self.wholeLimit && session.loop.distances.isLong(to: mirrors[0].origin)
  }

  package func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    let pieces = try pieces.sorted(within: file)
    // Nothing needs no request, but its digest may still be wrong.
    for piece in pieces where piece.length == 0 {
      let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
      guard try piece.matches(nothing) else {
        throw ContentError.damaged(piece, of: file, attempts: 1)
      }
      try deliver(piece, LentBytes(nothing, from: nil))
    }
    let fetch = PieceFetch(
      pieces.filter { $0.length > 0 }, of: file,
      from: try mirrors.map { try $0.appending(file.path) }, session: session, ticket: ticket)
    try fetch.run(deliver)
  }
}

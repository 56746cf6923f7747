package import HostedModel
package import HostedFileIO

/// A store on one or several web servers with the same content.
package struct HTTPPieceSource: PieceSource {
  /// The session, which may be shared.
  package let session: HTTPSession
  /// The URLs of the store's folder, in order of preference; not empty.
  package let mirrors: [WebURL]
  /// Nil if the URLs do not expire.
  private let lease: URLLease?

  /// Creates a source.
  ///
  /// A file's URLs are those of `authorizer`. Without them, they are the file's path below the
  /// mirrors. Throws `usage` if `mirrors` is empty.
  package init(
    _ session: HTTPSession, mirrors: [WebURL], authorizer: (any ContentAuthorizer)? = nil
  ) throws {
    guard !mirrors.isEmpty else {
      throw ContentError(.usage, "The store has no address", remedy: "Set at least one address")
    }
    self.session = session
    self.mirrors = mirrors
    lease = authorizer.map { URLLease($0, session) }
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

  /// A file of this length takes two round trips of 100 ms at 10 Mbit/s; in bytes.
  private static let wholeLimit: Int64 = 256 << 10

  package func isBestWhole(_ file: SignedFile) -> Bool {
    file.length <= Self.wholeLimit && session.loop.distances.isLong(to: mirrors[0].origin)
  }

  package func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    let pieces = try pieces.sorted(within: file)
    // An empty piece needs no request, but its digest may be wrong.
    for piece in pieces where piece.length == 0 {
      let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
      guard try piece.matches(nothing) else {
        throw ContentError.damaged(piece, of: file, attempts: 1)
      }
      try deliver(piece, LentBytes(nothing, from: nil))
    }
    let granted = try lease?.addresses(of: file.path, ticket)
    let urls = RequestURLs(
      path: file.path, addresses: try granted ?? mirrors.map { try $0.appending(file.path) },
      lease: granted == nil ? nil : lease)
    let fetch = PieceFetch(
      pieces.filter { $0.length > 0 }, of: file, from: urls, session: session, ticket: ticket)
    try fetch.run(deliver)
  }
}

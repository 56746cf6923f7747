import HostedModel
import HostedTransfer
import HostedFileIO
import HostedTestSupport

/// The network of the simulated store: pieces in any order, faults, and stalls.
// Sendable, because only the scheduled thread uses it.
final class SimulatedNetwork: PieceSource, @unchecked Sendable {
  private unowned let world: World

  init(_ world: World) { self.world = world }

  /// All faults of a transfer, as a single request reports them.
  static let faults: [TransferFault.Kind] = [
    .unusableURL, .unresolved, .refused, .connectTimeout, .secureConnection, .certificate, .proxy,
    .network, .tooManyFiles, .garbled, .cutShort, .deadline, .headersTooLong, .bodyTooLong,
    .status(403),
    .status(404), .status(429), .status(500), .status(503), .redirectRefused, .tooManyRedirects,
    .encoded("gzip"), .unexpectedType("text/html"), .wrongLength(1), .rangeIgnored, .rangeUnclear,
    .rangeElsewhere, .rangeRefused, .otherValidator, .damaged,
  ]

  func fetch(
    _ pieces: [Piece], of file: SignedFile, ticket: TransferTicket,
    deliver: (Piece, LentBytes) throws -> Void
  ) throws {
    guard let bytes = world.store.files[file.path] else {
      throw ContentError(
        .storeMissing, "\(file.path) not found in the store", remedy: "Ask the owner of the store")
    }
    var waiting = pieces
    while !waiting.isEmpty {
      try step(file, ticket)
      let piece = waiting.remove(at: world.choices.pick(.order, waiting.count))
      let isPackage = file.path.hasSuffix(".pkg")
      if isPackage { world.willFetch(piece.offset) }
      let range = Int(piece.offset)..<(Int(piece.offset) + piece.length)
      guard range.upperBound <= bytes.count else {
        world.violate("a piece is outside of its file", "\(file.path) \(range)")
        return
      }
      try deliver(piece, LentBytes(copyOf: bytes[range]))
      if isPackage { world.didFetch(piece.offset) }
      world.totals.pieces += 1
    }
    try step(file, ticket)
  }

  private func step(_ file: SignedFile, _ ticket: TransferTicket) throws {
    guard world.step("fetch \(file.path)") else { throw World.ended }
    try ticket.checkCancelled()
    world.checkWanted()
    guard let fault = world.networkFault() else { return }
    guard let fault else { return try stall(file, ticket) }
    throw ContentError(
      TransferFault(fault, "simulated"), from: try WebURL("http://store.example/\(file.path)"),
      subject: file.path)
  }

  /// Delivers nothing until the download is stopped or a timeout.
  ///
  /// Then it may continue.
  private func stall(_ file: SignedFile, _ ticket: TransferTicket) throws {
    let end = world.scheduler.now + 90_000_000_000
    world.scheduler.wake(at: end)
    world.scheduler.wait {
      (try? ticket.checkCancelled()) == nil || self.world.scheduler.now >= end
    }
    guard !world.scheduler.isDead else { throw World.ended }
    try ticket.checkCancelled()
    throw ContentError(
      TransferFault(.stalled, "simulated"), from: try WebURL("http://store.example/\(file.path)"),
      subject: file.path)
  }
}

import HostedModel
import HostedTransfer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("A package that is read while it is fetched", .waiting, .timeLimit(.hang))
struct PackageSpoolTests {
  private let folder: TemporaryFolder
  private let file: SampleFile
  private let index: PackageIndex

  init() throws {
    folder = try TemporaryFolder()
    file = try SampleFile(length: 40_000, pieces: [10_000])
    index = PackageIndex(
      packageLength: file.signed.length, blockLength: 10_000, blocks: file.pieces.map(\.digest),
      files: [])
  }

  @Test("An error of the reader ends the fetch at once, also while no block comes")
  func readError() throws {
    let spool = try PackageSpool(in: folder.directory, of: file.signed, index: index)
    let ticket = TransferTicket()
    let server = try ScriptedServer { [file] request in
      // It is stopped before.
      if request.number > 60 { ticket.cancel() }
      let right = ScriptedServer.Answer.file(file.bytes, request).bytes
      return .init(right.dropLast(25_000), then: .hang)
    }
    let source = try HTTPPieceSource(at: server.url()) {
      $0.idleTimeout = 0.1
      $0.retry.attempts = 1
    }
    let refusal = ContentError(.entryRefused, "An entry is refused", remedy: "Publish it again")
    let error = #expect(throws: ContentError.self) {
      // The first block is the only one that comes.
      try spool.fetchMissing(from: source, ticket: ticket) { _ in
        spool.stopFetching(refusal)
      }
    }
    #expect(error?.code == .entryRefused)
  }
}

import HostedModel
import HostedFileIO
import Foundation
import HostedConcurrency
import HostedTestSupport
import Testing

@testable import HostedTransfer

@Suite("Rate limit of a store in a folder")
struct FolderRateTests {
  private let folder: TemporaryFolder
  private let file: SampleFile

  init() throws {
    folder = try TemporaryFolder()
    file = try SampleFile(path: "a.pkg", length: 1_000_000, pieces: [100_000])
    try folder.directory.createFile("a.pkg").write(file.bytes)
  }

  /// Fetches the file, and returns the seconds on a clock that only sleeping advances.
  private func seconds(_ limits: TransferLimits, _ ticket: TransferTicket = TransferTicket())
    throws -> Double
  {
    let time = Mutex(0.0)
    let clock = EngineClock(now: { .now }, uptime: { time.withLock { $0 } })
    let rate = FolderRate(limits, clock: clock) { seconds in time.withLock { $0 += seconds } }
    var count = 0
    try FolderPieceSource(store: folder.directory, rate: rate)
      .fetch(file.pieces, of: file.signed, ticket: ticket) { piece, _ in
        count += piece.length
        if time.withLock({ $0 }) > 100 { ticket.cancel() }
      }
    #expect(count == 1_000_000)
    return time.withLock { $0 }
  }

  @Test("A megabyte at 100 kB per second takes about ten seconds")
  func limited() throws {
    var limits = TransferLimits()
    limits.bytesPerSecond = 100_000
    let seconds = try seconds(limits)
    // The last piece is read before its debt is paid, and the burst of a tenth of a second is free.
    #expect((8.8...10.1).contains(seconds), "\(seconds)")
  }

  @Test("Without a limit, nothing waits")
  func unlimited() throws { #expect(try seconds(TransferLimits()) == 0) }

  @Test("A waiting transfer ends soon after it is cancelled")
  func stopped() throws {
    var limits = TransferLimits()
    limits.bytesPerSecond = 1000
    let error = #expect(throws: ContentError.self) { try seconds(limits) }
    #expect(error?.code == .stopped)
  }

  @Test("A waiting transfer ends soon after its owner is closed")
  func closed() throws {
    let isClosed = Atomic(false)
    let ticket = TransferTicket {
      if isClosed.load(ordering: .relaxed) { throw CancellationError() }
    }
    var limits = TransferLimits()
    limits.bytesPerSecond = 1
    let rate = FolderRate(limits) { _ in isClosed.store(true, ordering: .relaxed) }
    try rate.wait(for: 1_000_000, ticket)
    #expect(throws: CancellationError.self) { try rate.wait(for: 1, ticket) }
  }
}

import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Kills a store server, its database and its clients at random moments, and restarts them.
///
/// `HOSTEDCONTENT_SEED` repeats the moments of a run as far as the machine's timing allows.
@Suite(
  "A store server and its clients, killed at random moments", .serialized,
  .slow, .timeLimit(.minutes(240)))
struct StoreServerKillTests {
  /// The number of kills of one ledger, so that it can be examined in memory.
  private static let roundsPerLedger = 25

  @Test(arguments: SlowTests.part(of: ServerDatabase.available))
  func `no purchase is lost, sold twice or answered differently`(
    database: ServerDatabase
  ) async throws {
    let kills = SlowTests.count(8, all: database == .sqlite ? 1_000 : 250)
    let first = SlowTests.seed(of: "store server kills (\(database))")
    for start in stride(from: 0, to: kills, by: Self.roundsPerLedger) {
      // The first ledger of another run with this seed is killed at the same moments.
      let seed = first &+ UInt64(start)
      let rounds = min(Self.roundsPerLedger, kills - start)
      print("store server kills (\(database)): \(rounds) rounds, seed \(seed)")
      let book = try await onOwnThread(givingWay: true) {
        var campaign = try KillCampaign(database, seed: seed)
        try campaign.run(rounds: rounds)
        return campaign.book
      }
      report(book, database, seed)
      for failure in book.failures { Issue.record("\(failure)") }
      if !book.failures.isEmpty { return }
      guard rounds >= 8 else { continue }
      // Otherwise, the kills came when nothing happened.
      #expect(book.sales.count > rounds && book.sales.values.contains(where: \.isInterrupted))
      // On a busy machine, few clients come so far that they are killed.
      #expect(book.counts.clientKills + book.counts.lives > 0)
    }
  }

  private func report(_ book: SalesBook, _ database: ServerDatabase, _ seed: UInt64) {
    let (counts, sales) = (book.counts, book.sales.values)
    let errors = counts.clientErrors.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
    print(
      """
      store server kills (\(database)): \(counts.serverKills) of the server, \
      \(counts.startKills) during its start, \(counts.databaseKills) of the database, \
      \(counts.clientKills) of clients; \(sales.count) purchases, \
      \(sales.count(where: \.isInterrupted)) of them interrupted; \(counts.lives) libraries; \
      errors of clients: \(errors.joined(separator: ", ")); seed \(seed)
      """)
  }
}

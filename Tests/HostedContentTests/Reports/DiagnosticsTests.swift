import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Diagnostics", .timeLimit(.hang))
struct DiagnosticsTests {
  @Test("Events have constant names, and do not contain accounts or receipts")
  func events() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let events = queue.diagnosticEvents()
    let account: AccountID = "hash-of-ann"
    _ = try await queue.deliver(Payment(productIdentifier: "a", applicationUsername: account))
    await #expect(throws: ContentError.self) {
      try await queue.deliver(Payment(productIdentifier: "nothing"))
    }
    queue.close()
    var names: [String] = []
    for await event in events {
      names.append(event.name)
      #expect(!event.details.values.contains { $0.contains(account.rawValue) })
    }
    #expect(
      Set([
        "queue launched", "payment added", "purchase made", "start requested",
        "download installed", "finish requested", "purchase failed",
      ]).isSubset(of: names))
    for await _ in queue.diagnosticEvents() { Issue.record("A closed queue has no events") }
  }

  @Test("Statistics count installs, failures, bytes and commits, and reused bytes separately")
  func statistics() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let gate = Gate()
    // Unpacking fails once, after everything was fetched.
    let queue = try fixture.queue { $0.fileSystem = gate.fileSystem(closedAt: "/data.bin") }
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    let length = try #require(transaction.downloads.first).expectedContentLength
    queue.start(transaction.downloads)
    await gate.waitUntilReached()
    queue.pause(transaction.downloads)
    for await report in queue.reports() {
      if case .downloads(let updates) = report, updates.contains(where: { $0.state == .paused }) {
        break
      }
    }
    gate.open()
    _ = try await queue.install(transaction)
    try await queue.finish(transaction)
    let statistics = queue.statistics
    #expect(statistics.installs == 1)
    #expect(statistics.stops <= 1)
    // Each member once; the bytes around them in the archive are not needed.
    #expect((8_000...length).contains(statistics.bytesFetched))
    // Data being written when the work was stopped was fetched again.
    #expect(statistics.bytesReused <= statistics.bytesFetched)
    #expect((statistics.bytesReused > 0) == (statistics.stops == 1))
    #expect(statistics.journalCommits >= 4)
    #expect(statistics.journalFailures == 0)
    queue.close()
  }
}

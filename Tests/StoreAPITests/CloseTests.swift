import HostedHTTPValues
import HostedModel
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedStoreAPI

@Suite("The end of a store API", .waiting, .timeLimit(.hang))
struct CloseTests {
  @Test func `a second close waits for the first, which completes a commit`() throws {
    let store = try TestStore()
    store.database.state.change { $0.isHeld = true }
    store.api.commits.add([.publish]) { _ in }
    store.database.state.block { $0.writes > 0 }
    closeTwice(store) { store.database.state.change { $0.isHeld = false } }
    #expect(try store.ledger.head()?.last == 1)
  }

  @Test func `a second close waits for the first, which waits for a ledger that hangs`() throws {
    let store = try TestStore()
    _ = try store.ledger.commit([.publish], at: store.clock.value)
    let viewer = AccountAccess(keyAccount: "key-own")
    #expect(store.api.events.stream(after: nil, viewer: viewer).status == 200)
    let reads = store.database.state.value.reads
    store.database.state.change { $0.holdsReads = true }
    store.database.state.block { $0.reads > reads }
    closeTwice(store) { store.database.state.change { $0.holdsReads = false } }
  }

  @Test func `what the stop of a server ends is not reported`() {
    var reports: [ContentError.Code] = []
    for code in [ContentError.Code.stopped, .ledgerFailed] {
      let error = ContentError(code, "The test's call failed", remedy: "Try again")
      let problem = Problem(error, report: { reports.append($0.code) })
      #expect(problem.status == 503)
    }
    #expect(reports == [.ledgerFailed])
  }

  /// Closes the API on two threads, neither of which may continue before `release`.
  private func closeTwice(_ store: TestStore, release: () -> Void) {
    let calls = (0..<2).map { _ in ThreadCall { store.api.close() } }
    for call in calls { #expect(call.isWaiting()) }
    release()
    for call in calls { call.wait() }
  }
}

import HostedHTTPValues
import FoundationEssentials
import HostedModel
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedStoreAPI

@Suite("Reading events for many receivers", .timeLimit(.hang))
struct EventReaderTests {
  @Test func `A ledger that cannot be read is asked once in a round`() throws {
    let store = try TestStore()
    _ = try store.ledger.commit([.publish], at: store.clock.value)
    let reader = EventReader(store.ledger)
    #expect(try reader.batch(after: 0).events.count == 1)
    let reads = store.database.state.value.reads
    store.database.state.change { $0.failure = .secretFailure }
    for sequence: Int64 in -3 ... -1 {
      #expect(throws: (any Error).self) { try reader.batch(after: sequence) }
    }
    #expect(store.database.state.value.reads == reads + 1)
    // What was read before is still there.
    #expect(try reader.batch(after: 0).events.count == 1)
  }

  @Test func `A key is read once in a round, and not for a caller just authenticated`() throws {
    let store = try TestStore()
    _ = try store.token(.read)
    let key = try #require(try store.ledger.keys().first)
    let viewer = AccountAccess(keyAccount: key.account, kid: key.kid)
    let round = EventReader(store.ledger, checkingKeysAt: store.clock.value)
    let request = EventReader(store.ledger)
    let reads = store.database.state.value.reads
    for _ in 1...3 { #expect(try round.accepts(viewer)) }
    #expect(store.database.state.value.reads == reads + 1)
    #expect(try request.accepts(viewer))
    #expect(store.database.state.value.reads == reads + 1)
  }

  @Test func `Events that are deleted after the head was read are not skipped`() throws {
    let store = try TestStore()
    let date = store.clock.value
    _ = try store.ledger.commit([.publish], at: date)
    _ = try store.ledger.commit([.publish], at: date.addingTimeInterval(2))
    let reader = EventReader(store.ledger)
    let now = date.addingTimeInterval(2)
    try store.ledger.pruneEvents(before: date.addingTimeInterval(1), now: now)
    #expect(throws: Problem.self) { try reader.batch(after: 0) }
    // Receivers at other positions get theirs in the same round.
    #expect(try reader.batch(after: 1).events.map(\.sequence) == [2])
  }

  @Test func `A ledger that cannot be read is reported, once while receivers wait`() async throws {
    let store = try TestStore()
    _ = try store.ledger.commit([.publish], at: store.clock.value)
    let events = store.api.events
    let viewer = AccountAccess(keyAccount: "key-own")
    #expect(events.stream(after: nil, viewer: viewer).status == 200)
    store.database.state.change { $0.failure = .secretFailure }
    await store.reports.wait { !$0.isEmpty }
    let reads = store.database.state.value.reads
    await store.database.state.wait { $0.reads > reads }
    #expect(store.reports.value == [.secretFailure])
    #expect(events.stream(after: nil, viewer: viewer).status == 503)
    #expect(store.reports.value == [.secretFailure, .secretFailure])
  }

  @Test func `The end of all receivers does not wait for a ledger that hangs`() async throws {
    let store = try TestStore()
    _ = try store.ledger.commit([.publish], at: store.clock.value)
    let events = store.api.events
    let response = events.stream(after: nil, viewer: AccountAccess(keyAccount: "key-own"))
    guard case .stream(let body) = response.body else { throw UnexpectedBody() }
    let reads = store.database.state.value.reads
    store.database.state.change { $0.holdsReads = true }
    await store.database.state.wait { $0.reads > reads }
    events.beginClose()
    store.database.state.change { $0.holdsReads = false }
    let stream = StreamReader(body)
    _ = await stream.text(until: "no such text")
    #expect(await stream.isAtEnd())
  }
}

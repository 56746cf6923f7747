import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// A store server as a process, with many clients and with slow ones.
@Suite(
  "A store server under load", .slow,
  .waiting, .timeLimit(.hang))
struct StoreServerLoadTests {
  private static let streamCount = 1_000
  /// The maximum memory of an idle event stream, in bytes.
  private static let streamMemory = 16_000

  @Test(
    "1,000 idle event streams need little memory and no threads, and all get the next event",
    .enabled(if: PeakMemory.isMeasurable))
  func idleStreams() throws {
    try Self.allowDescriptors()
    let fixture = try RequestFixture()
    // The first streams start what all streams share.
    var streams = try (0..<10).map { _ in try stream(fixture) }
    let process = fixture.server.process.processIdentifier
    let before = try #require(Usage(of: process))
    streams += try (0..<Self.streamCount).map { _ in try stream(fixture) }
    let after = try #require(Usage(of: process))
    let growth = (after.resident - before.resident) / Self.streamCount
    #expect(growth < Self.streamMemory, "\(growth) bytes for each stream")
    expectNoMoreThreads(after, than: before)

    let buyer = try fixture.server.client()
    buyer.send(fixture.purchase("order"))
    #expect(try buyer.response().status == 201)
    for stream in streams {
      var text = ""
      while !text.contains("\"order\"") || !text.hasSuffix("\n\n") {
        text += try #require(try stream.chunk(), "the stream has ended")
      }
    }
    expectNoMoreThreads(try #require(Usage(of: process)), than: before)
    #expect(fixture.server.stop() == 0)
    for stream in streams { #expect(stream.end() == .closed) }
  }

  /// Opens an event stream, and receives its head and its first cursor.
  private func stream(_ fixture: RequestFixture) throws -> APIClient {
    let client = try fixture.server.client()
    client.send(fixture.text("GET", "/v1/events", ["Accept: text/event-stream"]))
    #expect(try client.head().status == 200)
    #expect(try client.chunk()?.hasPrefix("id: ") == true)
    return client
  }

  /// The system's libraries start and end a few threads.
  private func expectNoMoreThreads(
    _ after: Usage, than before: Usage, location: SourceLocation = #_sourceLocation
  ) {
    #expect(after.threads < before.threads + 8, sourceLocation: location)
  }

  /// Raises the soft limit of descriptors of this process, which has one for each stream.
  private static func allowDescriptors() throws {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    let isKnown = getrlimit(resource, &limit) == 0
    try #require(isKnown && limit.rlim_max >= 2 * rlim_t(streamCount))
    // More than the servers of other tests set, so that it is not lowered.
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 8_192))
    let isSet = setrlimit(resource, &limit) == 0
    try #require(isSet)
  }

  // MARK: Slow clients

  /// A client that sends a request byte by byte.
  private struct Drip {
    let client: APIClient
    private var rest: ArraySlice<UInt8>

    init(_ client: APIClient, _ text: String) {
      self.client = client
      rest = Array(text.utf8)[...]
    }

    var isComplete: Bool { rest.isEmpty }

    mutating func sendByte() {
      if let byte = rest.popFirst() { client.send([byte]) }
    }
  }

  @Test("100 slow clients do not delay purchases, and are answered in the end")
  func slowClients() throws {
    let fixture = try RequestFixture()
    let start = ContinuousClock.now
    let stalled = try (0..<20).map { _ in try stalledClient(fixture) }
    var drips = try (0..<40).map { _ in
      Drip(
        try fixture.server.client(),
        APIClient.text("GET", "/readyz", ["X-Slow: \(String(repeating: "x", count: 100))"]))
    }
    drips += try (0..<40).map { try slowBody(fixture, "slow-\($0)") }
    let buyer = try fixture.server.client()
    for number in 0..<50 {
      for index in drips.indices { drips[index].sendByte() }
      buyer.send(fixture.purchase("order-\(number)"))
      #expect(try buyer.response().status == 201)
    }
    #expect(!drips.contains { $0.isComplete }, "the slow requests are still incomplete")
    while drips.contains(where: { !$0.isComplete }) {
      for index in drips.indices { drips[index].sendByte() }
    }
    // The server disconnects clients that have not sent their request in 10 s.
    let isInTime = ContinuousClock.now - start < .seconds(5)
    for drip in drips {
      do {
        let status = try drip.client.response().status
        // While another purchase of the product is in progress, its account must wait.
        #expect([200, 201, 409].contains(status))
      } catch {
        #expect(!isInTime && (error as? APIClient.End) != .silence, "\(error)")
      }
    }
    for client in stalled {
      let response = try client.response()
      #expect(response.status == 200)
    }
    try fixture.expectService()
    #expect(fixture.server.log == "\(fixture.server.url)\n")
  }

  /// A client that does not read the responses to its requests.
  ///
  /// They have more bytes than the buffers of both sockets.
  private func stalledClient(_ fixture: RequestFixture) throws -> APIClient {
    let client = try fixture.server.client()
    client.send(String(repeating: APIClient.text("GET", "/v1/openapi.json"), count: 200))
    return client
  }

  /// A client that has sent the head of a purchase, and sends the body byte by byte.
  private func slowBody(_ fixture: RequestFixture, _ transaction: String) throws -> Drip {
    let body = RequestFixture.body
    let client = try fixture.server.client()
    client.send(
      fixture.purchase(transaction, ["Content-Length: \(body.utf8.count)"], body: ""))
    return Drip(client, body)
  }
}

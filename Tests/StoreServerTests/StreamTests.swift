import HostedHTTPValues
import HostedConcurrency
import Dispatch
import Foundation
import HostedStoreAPI
import HostedStoreServer
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Streams of an API server", .waiting, .timeLimit(.hang))
struct StreamTests {
  @Test func `events arrive when they happen, and the connection can be used afterwards`() throws {
    let stream = AddedStream()
    let fixture = try APIFixture(handle: { request, respond in
      request.path == "/events" ? respond(stream.response) : echo(request, respond)
    })
    let client = try fixture.client()
    client.request("GET", "/events")
    for number in 0..<100 {
      stream.add("data: \(number)\n\n".utf8)
      if number == 0 {
        let head = try client.head()
        #expect(head.status == 200)
        #expect(head.headers["content-type"] == "text/event-stream")
        #expect(head.headers["transfer-encoding"] == "chunked")
      }
      #expect(try client.chunk() == "data: \(number)\n\n")
    }
    stream.add("".utf8, isLast: true)
    #expect(try client.chunk() == nil)
    #expect(try client.get("/other").body == "GET /other ")
    #expect(!stream.state.value.isCancelled, "it has ended by itself")
  }

  @Test func `the head arrives before the first event`() throws {
    let fixture = try APIFixture(handle: AddedStream().handler)
    let client = try fixture.client()
    client.request("GET", "/")
    #expect(try client.head().status == 200)
  }

  @Test func `a stream that is longer than the buffers is complete`() throws {
    let stream = AddedStream()
    let fixture = try APIFixture(handle: stream.handler)
    let text = String(repeating: "0123456789", count: 50_000)
    stream.add(text.utf8, isLast: true)
    let client = try fixture.client()
    client.request("GET", "/")
    #expect(try client.response().body == text)
  }

  @Test func `onReady may be called before the connection is suspended, and at any time`() throws {
    let fixture = try APIFixture(handle: { _, respond in
      respond(HTTPResponse(200, body: .stream(RacingStream())))
    })
    let clients = try (0..<8).map { _ in
      let client = try fixture.client()
      client.request("GET", "/")
      return client
    }
    for client in clients {
      #expect(try client.response().body == String(repeating: "x", count: 1_000))
    }
  }

  @Test func `the response to HEAD has no body, and the stream is cancelled`() throws {
    let stream = AddedStream()
    let fixture = try APIFixture(handle: stream.handler)
    let client = try fixture.client()
    #expect(try client.get("/", "HEAD").status == 200)
    stream.state.block { $0.isCancelled }
    #expect(try client.get("/", "HEAD").status == 200, "nothing follows the first head")
  }

  @Test func `a client that leaves is noticed when something is sent`() throws {
    let stream = AddedStream()
    let fixture = try APIFixture(handle: stream.handler)
    let client = try fixture.client()
    client.request("GET", "/")
    #expect(try client.head().status == 200)
    client.leave()
    blockUntil {
      stream.add(":\n\n".utf8)
      return stream.state.value.isCancelled
    }
    fixture.handled.block { $0.count == 1 }
  }

  @Test func `a stop ends the streams and cancels them`() throws {
    let stream = AddedStream()
    let fixture = try APIFixture(handle: stream.handler)
    let client = try fixture.client()
    client.request("GET", "/")
    stream.add("a".utf8)
    #expect(try client.head().status == 200)
    #expect(try client.chunk() == "a")
    fixture.server.stop()
    #expect(try client.chunk() == nil)
    #expect(client.end() == .closed)
    #expect(stream.state.value.isCancelled)
  }

  @Test func `idle streams have no threads`() async throws {
    let fixture = try APIFixture(handle: { _, respond in respond(AddedStream().response) })
    let before = Self.threadCount
    let clients = try (0..<200).map { _ in
      let client = try fixture.client()
      client.request("GET", "/")
      #expect(try client.head().status == 200)
      return client
    }
    // Other tests start threads too, which end soon.
    var count = Self.threadCount
    await waitUntil {
      count = Self.threadCount
      return count < before + 100
    }
    #expect(count < before + 100)
    fixture.server.stop()
    for client in clients { #expect(client.end() == .closed) }
  }

  private static var threadCount: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
  }
}

/// A stream of 1,000 bytes that becomes ready before or just after it waits.
private final class RacingStream: ResponseStream {
  private let calls = Mutex(0)

  func next(_ limit: Int, onReady: @escaping @Sendable () -> Void) -> ResponsePart {
    let call = calls.withLock { calls in
      calls += 1
      return calls
    }
    switch call % 3 {
    case 0: return call > 3_000 ? .end : .bytes([UInt8(ascii: "x")])
    case 1: onReady()
    default: DispatchQueue.global().async { onReady() }
    }
    return .wait
  }

  func cancel() {}
}

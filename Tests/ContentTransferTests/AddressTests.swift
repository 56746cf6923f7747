import ContentModel
import Dispatch
import Concurrency
import TestSupport
import Testing

@testable import ContentTransfer

@Suite("Hosts with several addresses", .timeLimit(.minutes(20)))
struct AddressTests {
  @Test("A host is reached although its first address is dead")
  func deadAddress() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let dead = try DeadAddress(server.port, of: 0x7f01_0101)
    // Addresses are shuffled, so one name alone might begin with the address that answers.
    let names = (0..<6).map { "store-\($0).invalid" }
    var configuration = impatientConfiguration()
    configuration.retry.attempts = 1
    configuration.connectTimeout = 8
    configuration.fixedAddresses = { [port = server.port] in
      names.map { "\($0):\(port):127.1.1.1,127.0.0.1" }
    }
    let session = try HTTPSession(configuration)
    let found = Mutex<[String: ContentError.Code?]>([:])
    DispatchQueue.concurrentPerform(iterations: names.count) { index in
      let name = names[index]
      let failure = code {
        let url = try WebURL("http://\(name):\(server.port)/")
        #expect(try session.get(HTTPRequest(url, limit: 10)).body == [7])
      }
      found.withLock { $0[name] = failure }
    }
    #expect(found.withLock { $0 } == Dictionary(uniqueKeysWithValues: names.map { ($0, nil) }))
    withExtendedLifetime(dead) {}
  }

  /// Serves `localhost` from 127.0.0.2 for the first lookup; later lookups find 127.0.0.1.
  private func moved(
    _ configuration: inout HTTPConfiguration, port: Int
  ) {
    let lookups = Mutex(0)
    configuration.fixedAddresses = {
      let isFirst = lookups.withLock { count in
        count += 1
        return count == 1
      }
      return isFirst ? ["+localhost:\(port):127.0.0.2"] : []
    }
  }

  @Test("A change of a host's address in mid transfer is followed by the first retry")
  func changedAddress() throws {
    let file = try SampleFile(length: 300_000, pieces: [10_000])
    let server = try ScriptedServer { .file(file.bytes, $0) }
    let gone = try ScriptedServer(at: server.port, of: 0x7f00_0002) { request in
      let answer = ScriptedServer.Answer.file(file.bytes, request)
      return request.number == 1
        ? .init(Array(answer.bytes.prefix(100_000)), then: .close) : .init([], then: .reset)
    }
    let source = try HTTPPieceSource(at: "http://localhost:\(server.port)/") {
      moved(&$0, port: server.port)
    }
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(gone.requests.count == 1)
    #expect(server.requests.count == 1)
  }

  @Test("A small answer comes from a host's new address at the first retry")
  func changedAddressOfSmallAnswer() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let gone = try ScriptedServer(at: server.port, of: 0x7f00_0002) { _ in .init([], then: .reset) }
    var configuration = impatientConfiguration()
    moved(&configuration, port: server.port)
    let session = try HTTPSession(configuration)
    let url = try WebURL("http://localhost:\(server.port)/")
    #expect(try session.get(HTTPRequest(url, limit: 10)).body == [7])
    #expect(gone.requests.count == 1)
  }
}

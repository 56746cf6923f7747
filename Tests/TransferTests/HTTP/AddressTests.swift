import HostedModel
import Dispatch
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedTransfer

@Suite("Hosts with several addresses", .waiting, .timeLimit(.hang))
struct AddressTests {
  @Test("A host is reached even if its first address does not answer", .slow)
  func deadAddress() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let dead = try DeadAddress(server.port, of: 0x7f01_0101)
    // Addresses are shuffled, so a single name could start with the address that answers.
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
        #expect(try session.send(TransferRequest(url, limit: 10)).body == [7])
      }
      found.withLock { $0[name] = failure }
    }
    #expect(found.withLock { $0 } == Dictionary(uniqueKeysWithValues: names.map { ($0, nil) }))
    withExtendedLifetime(dead) {}
  }

  /// Serves `localhost` from 127.0.0.2 for the first lookup.
  ///
  /// Later lookups return 127.0.0.1.
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

  @Test("The first retry uses a host's new address during a transfer")
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

  @Test("The first retry of a small answer uses a host's new address")
  func changedAddressOfSmallAnswer() throws {
    let server = try ScriptedServer { _ in .http("200 OK", body: [7]) }
    let gone = try ScriptedServer(at: server.port, of: 0x7f00_0002) { _ in .init([], then: .reset) }
    var configuration = impatientConfiguration()
    moved(&configuration, port: server.port)
    let session = try HTTPSession(configuration)
    let url = try WebURL("http://localhost:\(server.port)/")
    #expect(try session.send(TransferRequest(url, limit: 10)).body == [7])
    #expect(gone.requests.count == 1)
  }
}

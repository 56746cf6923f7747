import HostedModel
import HostedTransfer
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Validators of ranges", .waiting, .timeLimit(.hang))
struct ValidatorTests {
  @Test("A changed validator costs one request, and If-Range is not sent again", .slow)
  func changedValidator() throws {
    // Large enough for several ranges in sequence.
    let file = try SampleFile(length: 24 << 20, pieces: [1 << 20])
    let server = try ScriptedServer { request in
      let tag = "\"version-\(request.number)\""
      if let sent = request.header("if-range"), sent != tag {
        return .http("200 OK", ["ETag: \(tag)"], body: file.bytes)
      }
      return .file(file.bytes, request, headers: ["ETag: \(tag)"])
    }
    let source = try HTTPPieceSource(at: server.url()) { $0.limits.connectionsPerTransfer = 1 }
    #expect(try source.fetch(file).bytes == file.bytes)
    let conditions = server.requests.map { $0.header("if-range") != nil }
    #expect(conditions.filter { $0 }.count == 1)
    #expect(conditions.firstIndex(of: true) == 1)
  }

  @Test("A strong validator is sent with later ranges", .slow)
  func strongValidator() throws {
    let file = try SampleFile(length: 24 << 20, pieces: [1 << 20])
    let server = try ScriptedServer { .file(file.bytes, $0, headers: ["ETag: \"same\""]) }
    let source = try HTTPPieceSource(at: server.url()) { $0.limits.connectionsPerTransfer = 1 }
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(server.requests.count > 1)
    #expect(server.requests.dropFirst().allSatisfy { $0.header("if-range") == "\"same\"" })
    #expect(Set(server.requests.map(\.connection)) == [1])
  }

  @Test(
    "A validator that contains a line break is not sent back", .slow,
    arguments: ["\"a\rX-Injected: 1\"", "\"a\u{1b}[31m\"", "\"a\u{1}\""])
  func injectedValidator(tag: String) throws {
    let file = try SampleFile(length: 24 << 20, pieces: [1 << 20])
    let server = try ScriptedServer { .file(file.bytes, $0, headers: ["ETag: \(tag)"]) }
    let source = try HTTPPieceSource(at: server.url()) { $0.limits.connectionsPerTransfer = 1 }
    #expect(try source.fetch(file).bytes == file.bytes)
    #expect(server.requests.count > 1)
    #expect(server.requests.allSatisfy { $0.header("if-range") == nil })
    #expect(!server.requests.contains { $0.head.contains("Injected") })
  }
}

import HostedTestSupport
import HostedTestTraits
import Testing

/// All faults of a server.
///
/// The program itself detects hangs.
@Suite("Every fault of a web server")
struct FaultMatrixTests {
  @Test("Every fault: new, resumed and concurrent downloads, once and always", .slow)
  func matrix() async throws {
    let result = try await onOwnThread {
      try Tool().run([], program: Tool.program("HostedFaultMatrix"))
    }
    let end = result.output.split(separator: "\n").suffix(20).joined(separator: "\n")
    #expect(result.status == 0, "\(end)")
  }
}

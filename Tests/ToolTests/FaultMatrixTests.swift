import TestSupport
import Testing

/// All faults of a server; the program itself sees to it that none of them hangs.
@Suite("Every fault of a web server")
struct FaultMatrixTests {
  @Test(
    "Every fault, fresh, resumed and three at once, once and always", .enabled(if: SlowTests.areOn))
  func matrix() async throws {
    let result = try await onOwnThread {
      try Tool().run([], program: Tool.program("fault-matrix"))
    }
    let end = result.output.split(separator: "\n").suffix(20).joined(separator: "\n")
    #expect(result.status == 0, "\(end)")
  }
}

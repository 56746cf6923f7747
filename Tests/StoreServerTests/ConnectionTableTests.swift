import Glibc
import Testing

@testable import StoreServer

@Suite("The table of connections") struct ConnectionTableTests {
  @Test("A short deadline that is set after a check is noticed, although the idle time is long")
  func shortDeadline() {
    let table = ConnectionTable(
      limit: 1, limitPerAddress: 0, limitsLoopback: false, requestTimeout: .seconds(1),
      idleTimeout: .seconds(3_600))
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    #expect(table.add(descriptor))
    // The response is prepared.
    table.beginAnswer(descriptor)
    #expect(table.endOverdue() <= 1_001)
    table.beginAnswer(descriptor, within: .milliseconds(1))
    #expect(table.endOverdue() <= 1_001)
    table.remove(descriptor)
  }
}

import Glibc
import Testing

@testable import HostedFileServer

@Suite("The table of connections") struct ConnectionTableTests {
  @Test("A short deadline that is set after a check is noticed, although the idle time is long")
  func shortDeadline() {
    var limits = ConnectionLimits(connections: 1, connectionsPerAddress: 0, limitsLoopback: false)
    limits.requestTimeout = .seconds(1)
    limits.idleSeconds = 3_600
    let table = ConnectionTable(limits)
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

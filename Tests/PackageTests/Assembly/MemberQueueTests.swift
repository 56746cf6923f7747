import HostedFileIO
import HostedTestSupport
import Testing

@testable import HostedPackage

@Suite("Member queue")
struct MemberQueueTests {
  private func bytes(_ count: Int) -> LentBytes { LentBytes(copyOf: noise(count, seed: 3)) }

  @Test func `the queue is limited in bytes, but always accepts one member`() {
    let queue = MemberQueue(limit: 100)
    #expect(queue.put(bytes(300), member: 0))
    #expect(!queue.put(bytes(1), member: 1))
  }

  @Test func `at most 64 members wait, so that adding one takes no longer if they are short`() {
    let queue = MemberQueue(limit: 1 << 20)
    for member in 0..<64 { #expect(queue.put(bytes(1), member: member)) }
    #expect(!queue.put(bytes(1), member: 64))
  }

  @Test func `taking members makes room, and all are taken before the end`() throws {
    let queue = MemberQueue(limit: 100)
    #expect(queue.put(bytes(60), member: 2) && queue.put(bytes(40), member: 3))
    #expect(!queue.put(bytes(1), member: 4))
    var taken: [Int] = []
    try queue.drain(meanwhile: { false }) { member, bytes in
      taken.append(member)
      #expect(bytes.elementsEqual(noise([2: 60, 3: 40, 5: 50][member] ?? 0, seed: 3)))
      if member == 2 { #expect(queue.put(self.bytes(50), member: 5)) }
      if member == 5 { queue.close() }
    }
    #expect(taken == [2, 3, 5])
  }
}

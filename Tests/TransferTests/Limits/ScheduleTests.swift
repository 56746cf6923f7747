import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedTransfer

@Suite("Transfer schedule")
struct ScheduleTests {
  private func schedule(_ change: (inout TransferLimits) -> Void = { _ in }) -> TransferSchedule {
    var limits = TransferLimits()
    change(&limits)
    return TransferSchedule(limits: limits)
  }

  private func entry(
    _ id: Int, owner: Int? = nil, origin: String = "a", priority: Int = 0, notBefore: Double = 0,
    memory: Int = 0
  ) -> TransferSchedule.Entry {
    TransferSchedule.Entry(
      id: id, owner: owner ?? id, origin: origin, priority: priority, notBefore: notBefore,
      memory: memory)
  }

  @Test("Requests start in order, up to the limit")
  func limits() {
    var schedule = schedule {
      $0.connections = 5
      $0.connectionsPerHost = 3
    }
    for id in 0..<6 { schedule.add(entry(id)) }
    for id in 6..<10 { schedule.add(entry(id, origin: "b")) }
    #expect(schedule.start(at: 0) == [0, 1, 2, 6, 7])
    #expect(schedule.start(at: 0) == [])
    schedule.remove(1)
    #expect(schedule.start(at: 0) == [3])
    schedule.limits.connections = 6
    #expect(schedule.start(at: 0) == [8])
    schedule.remove(4)
    schedule.remove(0)
    #expect(schedule.start(at: 0) == [5])
  }

  @Test("With HTTP/2, four times as many requests per host start, as one connection")
  func multiplexed() {
    var schedule = schedule {
      $0.connections = 4
      $0.connectionsPerHost = 2
    }
    for id in 0..<20 { schedule.add(entry(id)) }
    for id in 20..<30 { schedule.add(entry(id, origin: "b")) }
    for id in 30..<40 { schedule.add(entry(id, origin: "c")) }
    #expect(schedule.start(at: 0) == [0, 1, 20, 21])
    schedule.multiplexed = ["a"]
    // Six more requests share the connection of a, which leaves one for c.
    #expect(schedule.start(at: 0) == [2, 3, 4, 5, 6, 7, 30])
    schedule.remove(20)
    schedule.remove(0)
    #expect(schedule.start(at: 0) == [8, 22])
    schedule.multiplexed = []
    schedule.remove(1)
    #expect(schedule.start(at: 0) == [])
  }

  @Test("The highest priority starts first, and a change applies to waiting requests")
  func priorities() {
    var schedule = schedule { $0.connections = 1 }
    for (id, priority) in [(0, 0), (1, 5), (2, -1), (3, 5)] {
      schedule.add(entry(id, priority: priority))
    }
    var order: [Int] = []
    while let id = schedule.start(at: 0).first {
      order.append(id)
      schedule.remove(id)
      if order.count == 1 { schedule.setPriorities { $0.owner == 2 ? 9 : $0.priority } }
    }
    #expect(order == [1, 2, 3, 0])
  }

  @Test("A thousand small transfers and a large one do not starve each other", .slow)
  func fairness() {
    var schedule = schedule { $0.connectionsPerHost = 8 }
    for id in 0..<4 { schedule.add(entry(id, owner: 0)) }
    for id in 1000..<2000 { schedule.add(entry(id)) }
    #expect(schedule.start(at: 0).filter { $0 < 4 }.count == 1)
    // Small transfers end, and the large one always has another request.
    var next = 4
    var ended: [Int: Int] = [:]
    for _ in 0..<400 {
      guard let id = schedule.running.keys.randomElement() else { break }
      schedule.remove(id)
      ended[id < 1000 ? 0 : 1, default: 0] += 1
      if id < 1000 {
        schedule.add(entry(next, owner: 0))
        next += 1
      }
      _ = schedule.start(at: 0)
    }
    #expect(ended[1, default: 0] > 100)
    #expect(schedule.running.keys.contains { $0 < 1000 })
  }

  @Test("A large transfer leaves places for the first request of another one")
  func reserve() {
    var schedule = schedule { $0.connectionsPerHost = 8 }
    for id in 0..<20 { schedule.add(entry(id, owner: 0)) }
    #expect(schedule.start(at: 0).count == 6)
    schedule.add(entry(100))
    schedule.add(entry(101))
    schedule.add(entry(102))
    #expect(schedule.start(at: 0) == [100, 101])
    var single = self.schedule { $0.connectionsPerHost = 1 }
    single.add(entry(0, owner: 0))
    #expect(single.start(at: 0) == [0])
  }

  @Test("A delayed request does not block others, and its time is known")
  func time() {
    var schedule = schedule { $0.connections = 1 }
    schedule.add(entry(0, notBefore: 10))
    schedule.add(entry(1))
    #expect(schedule.nextInstant(after: 0) == 10)
    #expect(schedule.start(at: 0) == [1])
    #expect(schedule.obstacles(at: 0).map(\.obstacle) == [.tooEarly(until: 10)])
    #expect(schedule.obstacles(at: 10).map(\.obstacle) == [.connections])
    schedule.remove(1)
    #expect(schedule.start(at: 9.9) == [])
    #expect(schedule.start(at: 10) == [0])
    #expect(schedule.nextInstant(after: 0) == nil)
  }

  @Test("A host that refuses gets one request at a time, and does not block other hosts")
  func pause() {
    var schedule = schedule()
    for (id, origin) in [(0, "a"), (1, "a"), (2, "b")] { schedule.add(entry(id, origin: origin)) }
    var isAsked = false
    let started = schedule.start(at: 5) { entry in
      guard entry.origin == "a" else { return nil }
      defer { isAsked = true }
      return isAsked ? 7 : nil
    }
    #expect(started == [0, 2])
    #expect(schedule.obstacles(at: 5).map(\.obstacle) == [.hostPause(until: 7)])
    #expect(schedule.nextInstant(after: 5) == 7)
    #expect(schedule.start(at: 7) == [1])
  }

  @Test("Memory is shared, and a request that exceeds it runs alone")
  func memory() {
    var schedule = schedule { $0.memory = 100 }
    for (id, memory) in [(0, 60), (1, 60), (2, 40), (3, 500)] {
      schedule.add(entry(id, memory: memory))
    }
    #expect(schedule.start(at: 0) == [0, 2])
    #expect(schedule.obstacles(at: 0).map(\.obstacle) == [.memory, .memory])
    schedule.remove(0)
    #expect(schedule.start(at: 0) == [1])
    schedule.remove(1)
    schedule.remove(2)
    #expect(schedule.start(at: 0) == [3])
  }
}

import HostedConcurrency
import Dispatch
import Foundation
import HostedTestTraits
import Testing

/// Blocking calls from tasks.
@Suite("Blocking calls of tasks", .timeLimit(.hang))
struct BlockingCallTests {
  /// Lets all calls continue when the last one has come.
  private final class Meeting: Sendable {
    private let missing: Mutex<Int>
    private let isComplete = DispatchSemaphore(value: 0)
    private let count: Int

    init(of count: Int) {
      self.count = count
      missing = Mutex(count)
    }

    func attend() {
      let isLast = missing.withLock { missing in
        missing -= 1
        return missing == 0
      }
      if isLast { for _ in 0..<count { isComplete.signal() } }
      isComplete.wait()
    }
  }

  @Test func `more calls than processors can wait for each other`() async {
    let count = ProcessInfo.processInfo.activeProcessorCount + 8
    let meeting = Meeting(of: count)
    let values = await withTaskGroup { group in
      for number in 0..<count {
        group.addTask {
          await performBlocking {
            meeting.attend()
            return number
          }
        }
      }
      return await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(values == Set(0..<count))
  }

  @Test func `an error of the call is thrown with its type`() async {
    struct Failure: Error, Equatable {}
    do throws(Failure) {
      try await performBlocking { () throws(Failure) in throw Failure() }
      Issue.record("no error")
    } catch {
      #expect(error == Failure())
    }
  }
}

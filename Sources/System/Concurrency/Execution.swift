package import Dispatch
package import FoundationEssentials
import Glibc

/// Runs the work of a queue, and provides its signals and clock.
///
/// A simulation replaces it to decide what runs when.
package protocol Execution: Sendable {
  /// The current time for delayed bodies.
  var now: DispatchTime { get }
  /// The executor of tasks, or nil for Swift's default.
  var tasks: (any TaskExecutor)? { get }
  /// Creates a line, or uses `queue` for it.
  func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine
  /// Creates a group of threads for blocking work.
  func group() -> any WorkGroup
  func signal() -> any ThreadSignal
}

/// Runs bodies one at a time, in order.
package protocol SerialLine: Sendable {
  func enqueue(_ body: @escaping @Sendable () -> Void)
  func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void)
  /// Waits for all bodies that were enqueued before, and runs `body`.
  func sync<Value>(_ body: () throws -> Value) rethrows -> Value
}

/// Runs blocking bodies, each on its own thread.
package protocol WorkGroup: Sendable {
  func start(_ body: @escaping @Sendable () -> Void)
  /// Counts work of the calling thread as a body until `leave`.
  func enter()
  func leave()
  /// Waits until all bodies have returned and each `enter` was followed by `leave`.
  func wait()
}

/// The execution of real queues.
package struct DispatchExecution: Execution {
  package init() {}

  package var now: DispatchTime { .now() }

  package var tasks: (any TaskExecutor)? { nil }

  package func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine {
    queue ?? DispatchQueue(label: label)
  }

  package func group() -> any WorkGroup { DispatchGroup() }

  package func signal() -> any ThreadSignal { DispatchSemaphore.unsent() }
}

extension DispatchQueue: SerialLine {
  package func enqueue(_ body: @escaping @Sendable () -> Void) { async(execute: body) }

  package func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void) {
    asyncAfter(deadline: time, execute: body)
  }

  package func sync<Value>(_ body: () throws -> Value) rethrows -> Value { try sync(execute: body) }
}

extension DispatchGroup: WorkGroup {
  /// Uses one queue per body; on a shared queue, blocked bodies would exhaust the thread pool.
  package func start(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "hostedcontent.work").async(group: self, execute: body)
  }
}

/// A signal for which one thread waits, and which another thread sends.
///
/// A simulation has its own signals, since its schedule decides which thread runs.
package protocol ThreadSignal: Sendable {
  /// Waits until the signal is sent, and returns at once if it was sent before.
  func wait()
  /// Waits like `wait()`, but at most until `time`.
  func wait(until time: DispatchTime)
  /// Wakes one waiting thread, or the next one that waits.
  func send()
}

/// Creates signals that were not sent yet.
package typealias MakeThreadSignal = @Sendable () -> any ThreadSignal

extension DispatchSemaphore: ThreadSignal {
  package func send() { signal() }

  package func wait(until time: DispatchTime) { _ = wait(timeout: time) }

  package static let unsent: MakeThreadSignal = { DispatchSemaphore(value: 0) }
}

/// The clocks of the engine; tests use their own.
package struct EngineClock: Sendable {
  /// Returns the current date, for expiry, records, and dates that servers send and users see.
  package let now: @Sendable () -> Date
  /// Returns the monotonic time in seconds since some start, for rates and timeouts.
  package let uptime: @Sendable () -> Double

  package init(now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Double) {
    self.now = now
    self.uptime = uptime
  }

  package static let system = EngineClock(
    now: { Date() },
    uptime: {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    })

  /// Returns the date at which `uptime` reaches `instant`.
  package func date(of instant: Double) -> Date { now().addingTimeInterval(instant - uptime()) }
}

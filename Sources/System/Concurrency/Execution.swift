package import Dispatch

/// Where the work of a queue runs, how it waits, and its clock; a simulation decides what runs
/// when.
package protocol Execution: Sendable {
  /// The time that delayed bodies of lines are compared with.
  var now: DispatchTime { get }
  /// Where tasks run; nil for Swift's own threads.
  var tasks: (any TaskExecutor)? { get }
  /// A new line, or one that runs on `queue`.
  func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine
  /// Threads for work that blocks.
  func group(_ label: String) -> any WorkGroup
  /// A signal for the threads of this execution.
  func signal() -> any ThreadSignal
}

/// Runs bodies one at a time, in order.
package protocol SerialLine: Sendable {
  func enqueue(_ body: @escaping @Sendable () -> Void)
  /// Enqueues `body` at `time`.
  func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void)
  /// Waits for the bodies that were enqueued before, then runs `body`.
  func sync<Value>(_ body: () throws -> Value) rethrows -> Value
}

/// Bodies that block and therefore each have a thread.
package protocol WorkGroup: Sendable {
  func start(_ body: @escaping @Sendable () -> Void)
  /// Counts work of the calling thread as a body, from now until `leave`.
  func enter()
  func leave()
  /// Waits until all bodies have returned and each `enter` was followed by `leave`.
  func wait()
}

/// The execution of every real queue.
package struct DispatchExecution: Execution {
  package init() {}

  package var now: DispatchTime { .now() }

  package var tasks: (any TaskExecutor)? { nil }

  package func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine {
    queue ?? DispatchQueue(label: label)
  }

  package func group(_ label: String) -> any WorkGroup { DispatchWork(label) }

  package func signal() -> any ThreadSignal { DispatchSemaphore.unsent() }
}

extension DispatchQueue: SerialLine {
  package func enqueue(_ body: @escaping @Sendable () -> Void) { async(execute: body) }

  package func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void) {
    asyncAfter(deadline: time, execute: body)
  }

  package func sync<Value>(_ body: () throws -> Value) rethrows -> Value {
    try sync(execute: body)
  }
}

/// A dispatch queue for each body: on a shared one they would use up the threads of the pool.
private final class DispatchWork: WorkGroup {
  private let label: String
  private let group = DispatchGroup()

  init(_ label: String) { self.label = label }

  func start(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue(label: label).async(group: group, execute: body)
  }

  func enter() { group.enter() }

  func leave() { group.leave() }

  func wait() { group.wait() }
}

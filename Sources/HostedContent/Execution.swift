package import Dispatch
package import FileIO

/// Where a queue's work runs, how it waits, and by which time; a simulation decides who runs when.
package protocol Execution: Sendable {
  /// The time that lines go by.
  var now: DispatchTime { get }
  /// Where tasks run; nil for Swift's own threads.
  var tasks: (any TaskExecutor)? { get }
  /// A line of its own, or that of `queue`.
  func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine
  /// Threads for work that blocks.
  func group(_ label: String) -> any WorkGroup
  /// A signal that its threads wait for.
  func signal() -> any ThreadSignal
}

/// Runs bodies one after the other, in the order in which they were handed over.
package protocol SerialLine: Sendable {
  func enqueue(_ body: @escaping @Sendable () -> Void)
  /// Hands `body` over at `time`.
  func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void)
  /// Waits for what was handed over before, and then for `body`.
  func sync<Value>(_ body: () throws -> Value) rethrows -> Value
}

/// Bodies that each have a thread, since they block.
package protocol WorkGroup: Sendable {
  func start(_ body: @escaping @Sendable () -> Void)
  /// Counts work that the calling thread does itself, from now until `leave`.
  func enter()
  func leave()
  /// Waits until every body has returned, and everybody who has entered has left.
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

/// A queue for each body: on a shared one they would take the threads that everybody's tasks and
/// timers run on.
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

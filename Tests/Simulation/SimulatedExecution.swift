import HostedConcurrency
import Dispatch

/// The execution of a simulated queue: the schedule runs one thread at a time.
// Sendable, because only the scheduled thread uses it.
final class SimulatedExecution: Execution, @unchecked Sendable {
  private let scheduler: Scheduler
  private let executor: SimulatedTasks

  init(_ scheduler: Scheduler) {
    self.scheduler = scheduler
    executor = SimulatedTasks(scheduler)
  }

  var now: DispatchTime { DispatchTime(uptimeNanoseconds: scheduler.now) }

  var tasks: (any TaskExecutor)? { executor }

  /// The line on which events are decided and performed.
  private(set) weak var engine: SimulatedLine?

  func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine {
    let line = SimulatedLine(scheduler)
    if label == "hostedcontent.engine" { engine = line }
    return line
  }

  func group() -> any WorkGroup { SimulatedGroup(scheduler) }

  func signal() -> any ThreadSignal { SimulatedSignal(scheduler) }
}

// Sendable, as `SimulatedExecution`.
final class SimulatedLine: SerialLine, @unchecked Sendable {
  private let scheduler: Scheduler
  /// Whether a thread is running on it.
  var isBusy = false
  /// Called in order when a thread that waits in `sync` gets its turn.
  var grants: [() -> Void] = []

  init(_ scheduler: Scheduler) { self.scheduler = scheduler }

  func enqueue(_ body: @escaping @Sendable () -> Void) {
    scheduler.add(Scheduler.Job(line: self, body: .call(body)))
  }

  func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void) {
    scheduler.add(Scheduler.Job(line: self, body: .call(body)), at: time.uptimeNanoseconds)
  }

  func sync<Value>(_ body: () throws -> Value) rethrows -> Value {
    scheduler.takeTurn(on: self)
    defer { isBusy = false }
    return try body()
  }
}

// Sendable, as `SimulatedExecution`.
private final class SimulatedGroup: WorkGroup, @unchecked Sendable {
  private let scheduler: Scheduler
  private var running = 0

  init(_ scheduler: Scheduler) { self.scheduler = scheduler }

  func start(_ body: @escaping @Sendable () -> Void) {
    running += 1
    scheduler.add(
      Scheduler.Job(
        line: nil,
        body: .call {
          body()
          self.running -= 1
        }))
  }

  func enter() { running += 1 }

  func leave() { running -= 1 }

  func wait() { scheduler.wait { self.running == 0 } }
}

// Sendable, as `SimulatedExecution`.
private final class SimulatedSignal: ThreadSignal, @unchecked Sendable {
  private let scheduler: Scheduler
  private var sent = 0

  init(_ scheduler: Scheduler) { self.scheduler = scheduler }

  func wait() {
    scheduler.wait { self.sent > 0 }
    sent -= 1
  }

  func wait(until time: DispatchTime) {
    scheduler.wake(at: time.uptimeNanoseconds)
    scheduler.wait { self.sent > 0 || self.scheduler.now >= time.uptimeNanoseconds }
    sent = max(0, sent - 1)
  }

  func send() { sent += 1 }
}

/// Runs the parts of Swift tasks between suspensions.
// Sendable, as `SimulatedExecution`.
private final class SimulatedTasks: TaskExecutor, @unchecked Sendable {
  private let scheduler: Scheduler

  init(_ scheduler: Scheduler) { self.scheduler = scheduler }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    scheduler.add(
      Scheduler.Job(
        line: nil, body: .call { job.runSynchronously(on: self.asUnownedTaskExecutor()) }))
  }
}

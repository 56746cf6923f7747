import HostedConcurrency
import Dispatch

/// The execution of a real queue with an engine that ticks without a clock.
struct TickerExecution: Execution {
  enum Ticks {
    /// The engine never ticks.
    case none
    /// The engine ticks whenever it is idle.
    case continuous
  }

  let ticks: Ticks
  private let base = DispatchExecution()
  private let ticked = DispatchSemaphore(value: 0)

  init(_ ticks: Ticks) { self.ticks = ticks }

  /// Returns after the engine has ticked once more, from beginning to end.
  func waitForTick() {
    while ticked.wait(timeout: .now()) == .success {}
    // The first one may have begun before.
    ticked.wait()
    ticked.wait()
  }

  var now: DispatchTime { base.now }

  var tasks: (any TaskExecutor)? { base.tasks }

  func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine {
    let line = base.line(label, on: queue)
    return label == "hostedcontent.engine" ? Line(base: line, ticks: ticks, ticked: ticked) : line
  }

  func group() -> any WorkGroup { base.group() }

  func signal() -> any ThreadSignal { base.signal() }

  private struct Line: SerialLine {
    let base: any SerialLine
    let ticks: Ticks
    let ticked: DispatchSemaphore

    func enqueue(_ body: @escaping @Sendable () -> Void) { base.enqueue(body) }

    func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void) {
      switch ticks {
      case .none: break
      case .continuous:
        base.enqueue {
          body()
          ticked.signal()
        }
      }
    }

    func sync<Value>(_ body: () throws -> Value) rethrows -> Value { try base.sync(body) }
  }
}

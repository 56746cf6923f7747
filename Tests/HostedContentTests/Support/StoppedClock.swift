import Dispatch
import HostedConcurrency

/// Dispatch threads with a clock controlled by a test.
final class StoppedClock: Execution {
  private let state = Mutex(State())
  private let real = DispatchExecution()

  private struct State {
    var now = DispatchTime.now()
    var timers: [Timer] = []
  }

  private struct Timer: Sendable {
    let time: DispatchTime
    let line: any SerialLine
    let body: @Sendable () -> Void
  }

  var now: DispatchTime { state.withLock { $0.now } }
  var tasks: (any TaskExecutor)? { real.tasks }
  func group() -> any WorkGroup { real.group() }
  func signal() -> any ThreadSignal { real.signal() }

  func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine {
    Line(clock: self, real: real.line(label, on: queue))
  }

  /// The number of scheduled bodies.
  var timers: Int { state.withLock { $0.timers.count } }

  /// Advances the clock and runs what is due.
  func advance(seconds: Double) {
    let due = state.withLock { state in
      state.now = state.now + seconds
      let due = state.timers.filter { $0.time <= state.now }
      state.timers.removeAll { $0.time <= state.now }
      return due
    }
    for timer in due { timer.line.enqueue(timer.body) }
  }

  private func add(_ timer: Timer) {
    let isDue = state.withLock { state in
      guard timer.time > state.now else { return true }
      state.timers.append(timer)
      return false
    }
    if isDue { timer.line.enqueue(timer.body) }
  }

  private struct Line: SerialLine {
    let clock: StoppedClock
    let real: any SerialLine

    func enqueue(_ body: @escaping @Sendable () -> Void) { real.enqueue(body) }
    func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void) {
      clock.add(Timer(time: time, line: real, body: body))
    }
    func sync<Value>(_ body: () throws -> Value) rethrows -> Value { try real.sync(body) }
  }
}

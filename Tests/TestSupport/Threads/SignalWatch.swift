package import HostedConcurrency
package import Dispatch

/// The execution of a real queue that reports when a thread begins to wait for another.
package struct SignalWatch: Execution {
  private let base = DispatchExecution()
  private let onWait: @Sendable () -> Void

  package init(onWait: @escaping @Sendable () -> Void) { self.onWait = onWait }

  package var now: DispatchTime { base.now }

  package var tasks: (any TaskExecutor)? { base.tasks }

  package func line(_ label: String, on queue: DispatchQueue?) -> any SerialLine {
    base.line(label, on: queue)
  }

  package func group() -> any WorkGroup { base.group() }

  package func signal() -> any ThreadSignal { Signal(base: base.signal(), onWait: onWait) }

  private struct Signal: ThreadSignal {
    let base: any ThreadSignal
    let onWait: @Sendable () -> Void

    func wait() {
      onWait()
      base.wait()
    }

    func wait(until time: DispatchTime) {
      onWait()
      base.wait(until: time)
    }

    func send() { base.send() }
  }
}

package import Dispatch

/// Where one thread waits until another one calls it; a simulation has its own, since there the
/// schedule says who runs.
package protocol ThreadSignal: Sendable {
  /// Waits for a call; one that came earlier counts.
  func wait()
  /// As `wait()`, but at most until `time`.
  func wait(until time: DispatchTime)
  /// Lets one waiting thread go on, or the next that waits.
  func send()
}

/// Makes signals that nobody has sent yet.
package typealias MakeThreadSignal = @Sendable () -> any ThreadSignal

extension DispatchSemaphore: ThreadSignal {
  package func send() { signal() }

  package func wait(until time: DispatchTime) { _ = wait(timeout: time) }

  /// The signals of real threads.
  package static let unsent: MakeThreadSignal = { DispatchSemaphore(value: 0) }
}

package import Dispatch

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

  /// The signals of real threads.
  package static let unsent: MakeThreadSignal = { DispatchSemaphore(value: 0) }
}

import Dispatch

/// A queue of elements between threads, which sleep while it is empty.
///
/// Use it from any thread. Only a thread that sleeps is woken, since this costs a system call.
package final class BlockingQueue<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var isClosed = false
    /// The number of threads that sleep, or are about to, and are not woken yet.
    var sleepers = 0

    /// Returns how many threads to wake, at most `count`.
    mutating func sleepersToWake(_ count: Int) -> Int {
      let woken = min(count, sleepers)
      sleepers -= woken
      return woken
    }
  }

  private let state = Mutex(State())
  private let signal = DispatchSemaphore(value: 0)

  package init() {}

  /// Adds an element at the end if `fits` accepts the waiting ones; returns whether it was added.
  ///
  /// After `close`, nothing is added.
  @discardableResult
  package func add(_ element: Element, if fits: ([Element]) -> Bool = { _ in true }) -> Bool {
    let woken: Int? = state.withLock { state in
      guard !state.isClosed, fits(state.elements) else { return nil }
      state.elements.append(element)
      return state.sleepersToWake(1)
    }
    wake(woken ?? 0)
    return woken != nil
  }

  /// Ends the queue after its last element, and returns whether it was open.
  @discardableResult
  package func close() -> Bool {
    let (wasOpen, woken) = state.withLock { state in
      defer { state.isClosed = true }
      return (!state.isClosed, state.sleepersToWake(.max))
    }
    wake(woken)
    return wasOpen
  }

  private func wake(_ count: Int) { for _ in 0..<count { signal.signal() } }

  /// Waits for an element and removes it, or returns nil at the end of the queue.
  package func next() -> Element? { take({ false }) { $0.removeFirst() } }

  /// Like `next()`, but calls `meanwhile` while the queue is empty, until it returns false.
  package func next(meanwhile: () throws -> Bool) rethrows -> Element? {
    try take(meanwhile) { $0.removeFirst() }
  }

  /// Waits for an element and removes all, or returns none at the end of the queue.
  package func takeAll() -> [Element] {
    let all: [Element]? = take({ false }) { elements in
      defer { elements = [] }
      return elements
    }
    return all ?? []
  }

  private func take<Value: Sendable>(
    _ meanwhile: () throws -> Bool, _ remove: (inout [Element]) -> Value
  ) rethrows -> Value? {
    var maySleep = false
    while true {
      let (value, isOver): (Value?, Bool) = state.withLock { state in
        guard state.elements.isEmpty else { return (remove(&state.elements), true) }
        if maySleep, !state.isClosed { state.sleepers += 1 }
        return (nil, state.isClosed)
      }
      if isOver { return value }
      if maySleep { signal.wait() } else { maySleep = try !meanwhile() }
    }
  }
}

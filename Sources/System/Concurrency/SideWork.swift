import Dispatch
package import HostedModel

/// Calls `body` for each of `items` on several threads, each with its own context.
///
/// Returns the values in no particular order. The first error ends the work and is thrown. Each
/// thread takes `portion` items at a time. With a small number, all threads end at about the same
/// time. If `workers` is at most 1 or no thread can be started, the calling thread does the work.
package func inParallel<Item: Sendable, Context, Value: Sendable>(
  _ items: [Item], workers: Int, portion: Int = 16,
  context: @escaping @Sendable () throws -> Context,
  _ body: @escaping @Sendable (Item, Context) throws -> Value?
) throws -> [Value] {
  guard !items.isEmpty else { return [] }
  // The index of the first item that no thread has taken.
  let next = Atomic(0)
  let found = Mutex((values: [Value](), error: (any Error)?.none))
  let work: @Sendable (Int) -> Void = { _ in
    do {
      let context = try context()
      var values: [Value] = []
      while found.withLock({ $0.error == nil }) {
        let start = next.wrappingAdd(portion, ordering: .relaxed).oldValue
        guard start < items.count else { break }
        for item in items[start..<min(start + portion, items.count)] {
          if let value = try body(item, context) { values.append(value) }
        }
      }
      found.withLock { $0.values += values }
    } catch {
      found.withLock { $0.error = $0.error ?? error }
    }
  }
  let count = min(workers, (items.count + portion - 1) / portion)
  if count > 1, let threads = try? WorkerThreads(count: count, work) {
    threads.join()
  } else {
    work(0)
  }
  return try found.withLock { found in
    if let error = found.error { throw error }
    return found.values
  }
}

/// Calls `other` on another thread, if `workers` allows it, while `body` runs on this one.
///
/// Returns when both have returned. If both throw, the error of `other` is thrown. If no thread can
/// be started, the calling thread calls both.
package func alongside<Value>(
  _ other: @escaping @Sendable () throws -> Void, workers: Int, _ body: () throws -> Value
) throws -> Value {
  guard workers > 1, let work = try? SideWork(other) else {
    try other()
    return try body()
  }
  let value = Result { try body() }
  try work.result().get()
  return try value.get()
}

/// Blocking work on a separate thread, whose result the caller waits for.
package struct SideWork<Value: Sendable> {
  private let thread: WorkThread
  private let outcome: @Sendable () -> Result<Value, any Error>?

  /// Starts the work at once.
  ///
  /// `onFailure` is called with an error as soon as it is thrown. The thread uses the variables
  /// that the closures capture until `result` has returned. Throws if the system cannot start a
  /// thread.
  package init(
    _ body: @escaping () throws -> Value, onFailure: @escaping (any Error) -> Void = { _ in }
  ) throws(ContentError) {
    // Unchecked, because only the thread uses the captured variables until `result()` has returned.
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) let onFailure = onFailure
    let outcome = Mutex<Result<Value, any Error>?>(nil)
    self.outcome = { outcome.withLock { $0 } }
    thread = try WorkThread {
      let result = Result { try body() }
      if case .failure(let error) = result { onFailure(error) }
      outcome.withLock { $0 = result }
    }
  }

  /// Waits until the thread has ended, and returns its result; call it once.
  package func result() -> Result<Value, any Error> {
    thread.end()
    return outcome() ?? .failure(CancellationError())
  }
}

/// Returns the values of `body` for `items`, in the same order; at most `limit` calls run at once.
package func concurrently<Item: Sendable, Value: Sendable>(
  _ items: [Item], limit: Int = .max, _ body: @escaping @Sendable (Item) async -> Value
) async -> [Value] {
  await withTaskGroup(of: (number: Int, value: Value).self) { group in
    var values: [Int: Value] = [:]
    for (number, item) in items.enumerated() {
      if number >= limit, let ended = await group.next() { values[ended.number] = ended.value }
      group.addTask { (number, await body(item)) }
    }
    for await ended in group { values[ended.number] = ended.value }
    return values.sorted { $0.key < $1.key }.map(\.value)
  }
}

// The runtime reports to the thread sanitizer that a continuation is resumed. It does not report
// that a task continues if the resume came before the wait (Swift 6.3). These functions report it,
// only in builds for the sanitizer.
#if THREAD_SANITIZER
  import Glibc

  /// The standard library's function, with a report to the thread sanitizer at the end.
  public func withCheckedContinuation<Value>(
    isolation: isolated (any Actor)? = #isolation, function: String = #function,
    _ body: (CheckedContinuation<Value, Never>) -> Void
  ) async -> sending Value {
    let value = await _Concurrency.withCheckedContinuation(
      isolation: isolation, function: function, body)
    noteResumption()
    return value
  }

  /// The standard library's function, with a report to the thread sanitizer at the end.
  public func withCheckedThrowingContinuation<Value>(
    isolation: isolated (any Actor)? = #isolation, function: String = #function,
    _ body: (CheckedContinuation<Value, any Error>) -> Void
  ) async throws -> sending Value {
    defer { noteResumption() }
    return try await _Concurrency.withCheckedThrowingContinuation(
      isolation: isolation, function: function, body)
  }

  /// Acquires what `swift_continuation_resume` released for this task.
  private func noteResumption() {
    withUnsafeCurrentTask { task in
      guard let task else { return }
      acquire?(unsafeBitCast(task, to: UnsafeMutableRawPointer.self))
    }
  }

  private typealias Annotation = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// The function of the sanitizer; it exists in each instrumented program.
  private let acquire: Annotation? = dlsym(nil, "__tsan_acquire").map {
    unsafeBitCast($0, to: Annotation.self)
  }
#endif

/// Runs `body`, whose calls may block, on another thread, and returns its value.
///
/// Calls that read or write files block, such as `PaymentQueue.init`, `LibraryReader.contents` and
/// `StoreFolder.publish`. A task must not block its thread, because few threads run all tasks:
///
///     let store = try await performBlocking { try StoreFolder.open(at: url) }
///
/// Does not end early if the task is cancelled.
public func performBlocking<Value: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result = await withCheckedContinuation { continuation in
    // A queue of its own gets a thread at once. Swift's pool uses the threads of the global queue,
    // and libdispatch replaces only one blocked thread of it per second.
    DispatchQueue(label: "hostedcontent.blocking").async {
      continuation.resume(returning: Result(catching: body))
    }
  }
  return try result.get()
}

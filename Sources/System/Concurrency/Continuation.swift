import Dispatch

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

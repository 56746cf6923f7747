// The runtime tells the thread sanitizer that a continuation is resumed, but not that a task goes
// on with one that was resumed before it began to wait (Swift 6.3). This says it, in builds for
// that sanitizer only.
#if THREAD_SANITIZER
  import Glibc

  /// The standard library's function of this name, with an end that the thread sanitizer sees.
  public func withCheckedContinuation<Value>(
    isolation: isolated (any Actor)? = #isolation, function: String = #function,
    _ body: (CheckedContinuation<Value, Never>) -> Void
  ) async -> sending Value {
    let value = await _Concurrency.withCheckedContinuation(
      isolation: isolation, function: function, body)
    noteResumption()
    return value
  }

  /// The standard library's function of this name, with an end that the thread sanitizer sees.
  public func withCheckedThrowingContinuation<Value>(
    isolation: isolated (any Actor)? = #isolation, function: String = #function,
    _ body: (CheckedContinuation<Value, any Error>) -> Void
  ) async throws -> sending Value {
    defer { noteResumption() }
    return try await _Concurrency.withCheckedThrowingContinuation(
      isolation: isolation, function: function, body)
  }

  /// The other half of what `swift_continuation_resume` says of this task.
  private func noteResumption() {
    withUnsafeCurrentTask { task in
      guard let task else { return }
      acquire?(unsafeBitCast(task, to: UnsafeMutableRawPointer.self))
    }
  }

  private typealias Annotation = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// The sanitizer's own function, which is in every program that it watches.
  private let acquire: Annotation? = dlsym(nil, "__tsan_acquire").map {
    unsafeBitCast($0, to: Annotation.self)
  }
#endif

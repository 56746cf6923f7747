@_exported public import Synchronization

// Normally, `Mutex` is the type of Synchronization, which is reexported with `Atomic`. The thread
// sanitizer does not see that it is locked after a wait, since the runtime library is not
// instrumented. It would report false races on the protected values.
#if THREAD_SANITIZER
  import Glibc

  /// A `Mutex` with a POSIX mutex, for builds with the thread sanitizer.
  ///
  /// It shadows Synchronization's `Mutex` in all modules that import this one. Like that one, it
  /// stops a thread that locks it twice.
  public struct Mutex<Value: ~Copyable>: ~Copyable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    /// Creates a lock that protects `initialValue`.
    public init(_ initialValue: consuming sending Value) {
      value = .allocate(capacity: 1)
      value.initialize(to: initialValue)
      lock = .allocate(capacity: 1)
      var attributes = pthread_mutexattr_t()
      pthread_mutexattr_init(&attributes)
      pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK))
      pthread_mutex_init(lock, &attributes)
      pthread_mutexattr_destroy(&attributes)
    }

    deinit {
      pthread_mutex_destroy(lock)
      lock.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }

    /// Calls `body` with the value while no other thread has it.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      let failure = pthread_mutex_lock(lock)
      precondition(failure == 0, "The thread has already locked this mutex")
      defer { pthread_mutex_unlock(lock) }
      return try body(&value.pointee)
    }
  }

  // Only the thread that has locked the mutex uses the value.
  extension Mutex: @unchecked Sendable where Value: ~Copyable {}
#endif

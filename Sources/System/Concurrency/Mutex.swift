@_exported public import Synchronization

// In ordinary builds `Mutex` is Synchronization's, which is passed on with `Atomic`. The thread
// sanitizer does not see when that one is locked after a wait, since the waiting is code of a
// library that is not instrumented; it would report what the lock guards as a race.
#if THREAD_SANITIZER
  import Glibc

  /// Synchronization's `Mutex` over a lock of POSIX threads, for builds that the thread sanitizer
  /// watches.
  ///
  /// It hides the other one from whoever imports this module. A thread that locks it twice is
  /// stopped, as by the other one.
  public struct Mutex<Value: ~Copyable>: ~Copyable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    /// A lock that guards `initialValue`.
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
      precondition(failure == 0, "A thread locks what it has locked")
      defer { pthread_mutex_unlock(lock) }
      return try body(&value.pointee)
    }

    /// Calls `body` with the value unless a thread has it; nil in that case.
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
      guard pthread_mutex_trylock(lock) == 0 else { return nil }
      defer { pthread_mutex_unlock(lock) }
      return try body(&value.pointee)
    }
  }

  // The value is touched by one thread at a time: the one that has the lock.
  extension Mutex: @unchecked Sendable where Value: ~Copyable {}
#endif

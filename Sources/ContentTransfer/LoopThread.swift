import Glibc

/// A thread that runs a function to its end.
struct LoopThread: Sendable {
  private let thread: pthread_t

  private final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts a thread that runs `body`; nil when the system gives none.
  init?(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let failure = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    guard failure == 0 else {
      box.release()
      return nil
    }
    self.thread = thread
  }

  /// Waits until the thread is gone, with what libraries keep for it; once, and at most by one.
  ///
  /// Called on the thread itself it only sees to it that nobody has to.
  func end() {
    if pthread_equal(thread, pthread_self()) != 0 {
      pthread_detach(thread)
    } else {
      pthread_join(thread, nil)
    }
  }
}

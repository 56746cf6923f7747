import CLinux
import Glibc

/// A thread that runs a function to its end, for work that blocks or calculates.
///
/// It does not push aside the thread that wakes it, or any other that calculates: what it was woken for
/// is work by the megabyte, of which there is more when its turn comes, so that processors change
/// threads half as often.
package struct WorkThread: Sendable {
  private let thread: pthread_t

  private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts a thread that runs `body`; throws the system's number for why it gives none.
  package init(_ body: @escaping @Sendable () -> Void) throws(NoThread) {
    let box = Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let failure = pthread_create(
      &thread, nil,
      { context in
        hc_stand_back()
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    guard failure == 0 else {
      box.release()
      throw NoThread(number: failure)
    }
    self.thread = thread
  }

  /// The system gives no thread.
  package struct NoThread: Error {
    /// Of `errno`.
    package let number: Int32
  }

  /// Waits until the thread is gone, with what libraries keep for it; once, and at most by one.
  ///
  /// Called on the thread itself it only sees to it that nobody has to.
  package func end() {
    if pthread_equal(thread, pthread_self()) != 0 {
      pthread_detach(thread)
    } else {
      pthread_join(thread, nil)
    }
  }
}

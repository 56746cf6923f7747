import Dispatch
import Glibc

/// An opening of a library in progress, for the threads that wait for its end.
final class LibraryOpening: Sendable {
  private let thread = pthread_self()
  private let group = DispatchGroup()

  /// Begins; the calling thread is the one that opens the library.
  init() { group.enter() }

  /// Whether the calling thread is the one that opens the library.
  var isOnThisThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

  /// Waits for the end; not to be called by the thread that opens the library.
  func wait() { group.wait() }

  func end() { group.leave() }
}

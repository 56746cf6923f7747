import Dispatch
import Glibc

/// The opening of a library, for threads that wait until it ends.
final class LibraryOpening: Sendable {
  private let thread = pthread_self()
  private let group = DispatchGroup()

  /// Starts the opening; the calling thread is the one that opens the library.
  init() { group.enter() }

  /// Whether the calling thread is opening the library.
  var isOnThisThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

  /// Waits for the end; must not be called by the thread that opens the library.
  func wait() { group.wait() }

  func end() { group.leave() }
}

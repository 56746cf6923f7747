import Glibc

/// Starts a thread that runs `body` to its end; nobody waits for it.
enum LoopThread {
  private final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// False when the system gives no thread.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
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
      return false
    }
    pthread_detach(thread)
    return true
  }
}

// Two threads increment a counter, "guarded" by our Mutex, or "bare", which is a race.
import Glibc
import HostedConcurrency

final class Counter: @unchecked Sendable {
  let guarded = Mutex(0)
  var bare = 0

  static let shared = Counter()
}

/// Increments under the lock if `context` is not nil.
nonisolated func count(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  for _ in 0..<10_000 {
    if context != nil {
      Counter.shared.guarded.withLock { $0 += 1 }
    } else {
      Counter.shared.bare += 1
    }
  }
  return nil
}

let isGuarded = CommandLine.arguments.last == "guarded"
var threads: [pthread_t] = []
for _ in 0..<2 {
  var thread = pthread_t()
  pthread_create(&thread, nil, count, UnsafeMutableRawPointer(bitPattern: isGuarded ? 1 : 0))
  threads.append(thread)
}
for thread in threads { pthread_join(thread, nil) }

import HostedModel
import HostedFileIO
import Glibc

/// A stop request that many threads can poll together with a socket; it is set once.
package final class StopLatch: Sendable {
  private let setter: Int32
  /// Becomes readable (end of file) when the latch is set.
  let descriptor: Int32

  package init() throws {
    var pair: [Int32] = [-1, -1]
    // Not a pipe: Swift cannot import pipe2 with O_CLOEXEC.
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else {
      throw ContentError(errno: errno, .open, "a socket pair")
    }
    (setter, descriptor) = (pair[0], pair[1])
  }

  deinit {
    close(setter)
    close(descriptor)
  }

  package func set() { shutdown(setter, Int32(SHUT_RDWR)) }
}

import ContentModel
import FileIO
import Glibc

/// A wish to stop that any number of threads can wait for beside a socket; set once.
final class StopLatch: Sendable {
  private let setter: Int32
  /// Ready for reading, with its end, from when it is set.
  let descriptor: Int32

  init() throws {
    var pair: [Int32] = [-1, -1]
    // Not a pipe: pipe2 with O_CLOEXEC is hidden from Swift.
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

  func set() { shutdown(setter, Int32(SHUT_RDWR)) }
}

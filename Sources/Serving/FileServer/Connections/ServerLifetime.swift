import Glibc
import HostedConcurrency
import HostedFileIO
import HostedModel

/// Starts and stops a server, which has the same port after each start; thread-safe.
package final class ServerLifetime: Sendable {
  private let openPort: @Sendable () throws -> HeldPort
  // Starts and stops wait for each other.
  private let changes = OperationLock()
  private let state = Mutex(State())

  private struct State {
    /// Held since the first start.
    var port: HeldPort?
    var running: Running?
  }

  private struct Running {
    let listener: Listener
    let latch: StopLatch
    let stop: @Sendable () -> Void
  }

  /// What serves the connections of a server from a start to a stop.
  ///
  /// `take` gets each new connection; `stop` is called after the last one.
  package typealias Service = (
    connections: ConnectionTable, take: @Sendable (Int32) -> Listener.Handling,
    stop: @Sendable () -> Void
  )

  /// `openPort` is called at the first start.
  package init(openPort: @escaping @Sendable () throws -> HeldPort) { self.openPort = openPort }

  /// Serves connections with the result of `serve` until `stop`.
  ///
  /// Does nothing if the server already listens. The latch is set when the server stops.
  package func start(_ serve: (StopLatch) throws -> Service) throws {
    try changes.withLock {
      let (isRunning, held) = state.withLock { ($0.running != nil, $0.port) }
      guard !isRunning else { return }
      let port = try held ?? openPort()
      let latch = try StopLatch()
      let service = try serve(latch)
      let listener = try Listener(port, service.connections, latch, take: service.take)
      let running = Running(listener: listener, latch: latch, stop: service.stop)
      state.withLock { $0 = State(port: port, running: running) }
    }
  }

  /// Accepts nothing more, and stops the service.
  package func stop() {
    changes.withLock {
      let running = state.withLock { state in
        defer { state.running = nil }
        return state.running
      }
      guard let running else { return }
      running.latch.set()
      running.listener.join()
      running.stop()
    }
  }

  /// The current or last port; nil before the first start.
  package var port: HeldPort? { state.withLock { $0.port } }
}

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

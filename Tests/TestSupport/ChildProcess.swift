import HostedCSpawn
import Foundation
import Glibc
import HostedConcurrency

/// A program that a test has started.
///
/// The last reference ends it and waits for it.
///
/// Foundation's `Process` is not used. It passes blocked signals of the calling thread to the
/// program, which SIGTERM then cannot end. It also waits for the program's own children.
package final class ChildProcess: Sendable {
  package enum Reason: Sendable { case exit, uncaughtSignal }

  /// A program could not be started.
  package struct Failure: Error {
    package let words: String

    package init(_ words: String) { self.words = words }
  }

  package let processIdentifier: Int32
  /// The status of waitpid(2), or nil until the process was waited for.
  private let status = Mutex<Int32?>(nil)

  /// Starts the program at the path `program`.
  ///
  /// Its input and outputs are files. Without `errors`, both outputs go to `output`. `environment`
  /// is added to the environment of this process.
  package init(
    _ program: String, _ words: [String], environment: [String: String] = [:],
    folder: String? = nil, input: String = "/dev/null", output: String = "/dev/null",
    errors: String? = nil
  ) throws {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let folder { cspawn_add_folder(&actions, folder) }
    let writing = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, writing, 0o600)
    if let errors {
      posix_spawn_file_actions_addopen(&actions, 2, errors, writing, 0o600)
    } else {
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    cspawn_add_close_from(&actions, 3)

    var arguments = ([program] + words).map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var variables =
      ProcessInfo.processInfo.environment.merging(environment) { $1 }
      .map { strdup("\($0)=\($1)") } + [nil]
    defer { variables.forEach { free($0) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, program, &actions, &attributes, &arguments, &variables)
    guard result == 0 else {
      throw Failure("Cannot start \(program): \(String(cString: strerror(result)))")
    }
    processIdentifier = process
  }

  deinit {
    kill(SIGKILL)
    _ = waitUntilExit()
  }

  /// Whether it is still running.
  package var isRunning: Bool { end(WNOHANG) == nil }

  /// Sends a signal, unless the process was waited for.
  package func kill(_ signal: Int32) {
    status.withLock { if $0 == nil { _ = Glibc.kill(processIdentifier, signal) } }
  }

  /// Blocks until it ends.
  @discardableResult
  package func waitUntilExit() -> (reason: Reason, status: Int32) {
    // Leaves the process waitable, so that another thread can also wait for it.
    var information = siginfo_t()
    while waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOWAIT) == -1,
      errno == EINTR
    {}
    guard let end = end(0) else { return (.exit, -1) }
    let signal = end & 0x7f
    return signal == 0 ? (.exit, (end >> 8) & 0xff) : (.uncaughtSignal, signal)
  }

  /// The exit status, or the number of the signal.
  ///
  /// Blocks until it ends.
  package var terminationStatus: Int32 { waitUntilExit().status }
  package var terminationReason: Reason { waitUntilExit().reason }

  private func end(_ options: Int32) -> Int32? {
    status.withLock { status in
      var new: Int32 = 0
      if status == nil, waitpid(processIdentifier, &new, options) == processIdentifier {
        status = new
      }
      return status
    }
  }
}

import Foundation
import HostedConcurrency

/// A user without files.
///
/// Tests that run as root can act as this user.
package enum OtherUser {
  /// The user identifier that Debian reserves for a user without files.
  package static let number: UInt32 = 65_534

  /// Why this process cannot act as another user, or nil if it can.
  package static let obstacle: String? = {
    guard geteuid() == 0 else { return "only root can act as another user" }
    do {
      let end = try run("true", [])
      return end.status == 0 ? nil : "setpriv failed: \(end.output)"
    } catch {
      return "setpriv failed: \(error)"
    }
  }()

  /// Runs a program as this user until it ends.
  ///
  /// Blocks.
  package static func run(_ program: String, _ words: [String]) throws -> Program.End {
    try Program.run("/usr/bin/env", command(program, words))
  }

  /// Returns the arguments of `env` that start a program as this user.
  package static func command(_ program: String, _ words: [String]) -> [String] {
    ["setpriv", "--reuid=\(number)", "--regid=\(number)", "--clear-groups", program] + words
  }

  /// Runs `body` on a thread with this user's file permissions.
  ///
  /// Blocks.
  package static func perform<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    typealias SetUser = @convention(c) (UInt32) -> Int32
    guard let symbol = dlsym(nil, "setfsuid") else { return try body() }
    let setUser = unsafeBitCast(symbol, to: SetUser.self)
    let result = Mutex<Result<Value, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    // setfsuid(2) only affects the calling thread.
    Thread.detachNewThread {
      _ = setUser(number)
      let value = Result { try body() }
      _ = setUser(0)
      result.withLock { $0 = value }
      done.signal()
    }
    done.wait()
    guard let value = result.withLock({ $0 }) else { throw CancellationError() }
    return try value.get()
  }
}

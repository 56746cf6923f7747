import Foundation
import Concurrency

/// A user who owns nothing; tests that run as root can act as this user.
package enum OtherUser {
  /// The number of the user `nobody`.
  package static let number: UInt32 = 65_534

  /// Why this process cannot act as another user; nil if it can.
  package static let obstacle: String? = {
    guard geteuid() == 0 else { return "only root can act as another user" }
    do {
      let end = try run("true", [])
      return end.status == 0 ? nil : "setpriv failed: \(end.output)"
    } catch {
      return "setpriv failed: \(error)"
    }
  }()

  /// Runs a program as this user to its end; blocks.
  package static func run(_ program: String, _ words: [String]) throws -> Program.End {
    try Program.run("/usr/bin/env", command(program, words))
  }

  /// The words by which `env` starts a program as this user.
  package static func command(_ program: String, _ words: [String]) -> [String] {
    ["setpriv", "--reuid=\(number)", "--regid=\(number)", "--clear-groups", program] + words
  }

  /// Runs `body` on a thread that has this user's rights on files; blocks.
  package static func perform<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    typealias SetUser = @convention(c) (UInt32) -> Int32
    guard let symbol = dlsym(nil, "setfsuid") else { return try body() }
    let setUser = unsafeBitCast(symbol, to: SetUser.self)
    let result = Mutex<Result<Value, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    // setfsuid(2) changes the calling thread only.
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

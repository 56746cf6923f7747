import Foundation

/// A call on a thread of its own, of which a test can see whether it waits.
package final class ThreadCall: Sendable {
  private enum State: Equatable {
    case starting
    /// The file has the thread's state, see proc(5).
    case running(file: String)
    case ended
  }

  private let state = Watched(State.starting)

  package init(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread { [state] in
      let thread = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
      state.change { $0 = .running(file: "/proc/\(thread ?? "")/stat") }
      body()
      state.change { $0 = .ended }
    }
  }

  /// Blocks until the call waits for something; returns false if it ends instead.
  package func isWaiting() -> Bool {
    state.block { $0 != .starting }
    var isWaiting = false
    blockUntil {
      guard case .running(let file) = state.value else { return true }
      let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
      // The state follows the thread's name, which is in parentheses.
      isWaiting = text.split(separator: ")").last?.hasPrefix(" S") ?? false
      return isWaiting
    }
    return isWaiting
  }

  /// Blocks until the call has ended.
  package func wait() { state.block { $0 == .ended } }
}

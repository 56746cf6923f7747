import Foundation
import HostedConcurrency

/// Runs blocking work on a separate thread.
///
/// Swift's pool has one thread per processor, and all asynchronous tests share it. Work that takes
/// minutes and does not depend on time should be `givingWay`: the thread and the programs that it
/// starts then have a low priority, so that other tests end in time.
package func onOwnThread<Value: Sendable, Failure: Error>(
  givingWay: Bool = false, _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result = await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      // On Linux, it only applies to the calling thread.
      if givingWay { setpriority(Int32(PRIO_PROCESS.rawValue), 0, 10) }
      continuation.resume(returning: Result { () throws(Failure) in try body() })
    }
  }
  return try result.get()
}

import Foundation
import Concurrency

/// Does what blocks on a thread of its own: Swift's pool has as many as there are processors, and
/// all asynchronous tests share them.
///
/// What takes minutes and waits for no clock should be `givingWay`: the thread and the programs
/// that it starts then leave the processors to other tests, which end in their time.
package func onOwnThread<Value: Sendable, Failure: Error>(
  givingWay: Bool = false, _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result = await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      // On Linux it counts for the calling thread alone.
      if givingWay { setpriority(Int32(PRIO_PROCESS.rawValue), 0, 10) }
      continuation.resume(returning: Result { () throws(Failure) in try body() })
    }
  }
  return try result.get()
}

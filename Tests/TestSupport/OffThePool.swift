import Dispatch
import Locks

/// Does what blocks on a thread of its own: Swift's pool has as many as there are processors, and all
/// asynchronous tests share them.
package func offThePool<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    DispatchQueue(label: "hostedcontent.test").async { continuation.resume(returning: body()) }
  }
}

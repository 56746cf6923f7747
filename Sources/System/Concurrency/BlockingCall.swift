import Dispatch

/// Runs `body`, whose calls may block, on another thread, and returns its value.
///
/// Calls that read or write files block, such as `PaymentQueue.init`, `LibraryReader.contents` and
/// `StoreFolder.publish`. A task must not block its thread, because few threads run all tasks:
///
///     let store = try await performBlocking { try StoreFolder.open(at: url) }
///
/// Does not end early if the task is cancelled.
public func performBlocking<Value: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result = await withCheckedContinuation { continuation in
    // A queue of its own gets a thread at once. Swift's pool uses the threads of the global queue,
    // and libdispatch replaces only one blocked thread of it per second.
    DispatchQueue(label: "hostedcontent.blocking").async {
      continuation.resume(returning: Result(catching: body))
    }
  }
  return try result.get()
}

import Concurrency
import ContentLibrary
import Dispatch

extension PaymentQueue {
  /// Stops all downloads, keeping what was fetched, and waits until nothing of the queue runs.
  ///
  /// When it returns, the library is free for another queue, and this one changes nothing in it. No
  /// call of an observer or of the delegate begins any more; within such a call this does not wait
  /// for it. What is asked of the queue later is ignored. It waits for calls of observers and of
  /// the service, at most 5 seconds.
  public func close() {
    let environment = configuration.environment
    let deadline = environment.execution.now + environment.closingLimit
    engine.stop()
    store.close()
    repairs.close()
    ownService?.close()
    contents?.close()
    engine.wait(until: deadline)
    delivery.close(until: deadline)
    lock.release()
    delivery.endStreams()
  }
}

import HostedConcurrency
import HostedLibrary
package import Dispatch

extension PaymentQueue {
  /// Waits until the service has acknowledged all finished purchases, for `limit` at most.
  ///
  /// The others are sent after the next launch. Ends when the queue is closed.
  package func waitForNotices(_ limit: DispatchTimeInterval) async {
    await performBlocking { [engine] in
      engine.waitForNotices(until: engine.environment.execution.now + limit)
    }
  }

  /// Stops all downloads, keeps fetched data, and waits until the queue is idle.
  ///
  /// When it returns, another queue may open the library, and this one no longer changes it.
  /// Observers and the delegate are not called anymore. Within such a call, `close` does not wait
  /// for that call. Later requests to this queue are ignored. Waits at most 5 seconds for running
  /// calls of observers and of the service.
  public func close() {
    let environment = configuration.environment
    let deadline = environment.execution.now + environment.closingLimit
    engine.stop()
    store.close()
    sources.grants?.close()
    repairs.close()
    ownService?.close()
    contents?.close()
    engine.wait(until: deadline)
    delivery.close(until: deadline)
    engine.journal.emptyLog()
    lock.release()
    delivery.endStreams()
  }
}

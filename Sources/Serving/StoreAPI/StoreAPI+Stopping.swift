extension StoreAPI {
  /// Ends all event streams and waiting requests; other requests continue.
  package func endWaiting() { events.close() }
}

extension StoreAPI {
  /// Ends all event streams and waiting requests; other requests continue.
  package func endWaiting() { events.close() }

  /// Delivers the events of changes that another ledger has made, without delay.
  package func deliverEvents() { events.wake() }
}

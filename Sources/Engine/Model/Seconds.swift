extension Duration {
  /// The duration in seconds.
  package var inSeconds: Double { self / .seconds(1) }
}

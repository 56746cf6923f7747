package import Testing

extension TimeLimitTrait.Duration {
  /// For tests that hang if they fail.
  ///
  /// It also counts while a test waits for a free thread, which takes minutes in the slow set.
  package static var hang: Self { .minutes(30) }
}

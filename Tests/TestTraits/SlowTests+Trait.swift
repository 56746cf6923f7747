import HostedTestSupport
package import Testing

extension Trait where Self == ConditionTrait {
  /// For tests that take more than a quarter of a second of a processor.
  package static var slow: Self { .enabled(if: SlowTests.areOn, "Scripts/test --slow runs it") }
}

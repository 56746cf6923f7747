import Glibc

/// The switch for what takes minutes: `Scripts/test --slow`, which continuous integration uses.
package enum SlowTests {
  package static let areOn = getenv("HOSTEDCONTENT_SLOW_TESTS") != nil
}

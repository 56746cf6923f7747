import Glibc

/// The switch for tests that take minutes: `Scripts/test --slow`, which CI uses.
///
/// With it, campaigns of thousands of runs are sampled. `Scripts/test --all` runs them completely,
/// for about an hour.
package enum SlowTests {
  package static let areOn = getenv("HOSTEDCONTENT_SLOW_TESTS") != nil
  /// Whether campaigns are complete: `Scripts/test --all`.
  package static let areComplete =
    areOn && String(cString: getenv("HOSTEDCONTENT_SLOW_TESTS")) == "all"

  /// Whether tests may use exit tests.
  ///
  /// After the first one, a thread of swift-testing waits for any child of the process. It spins,
  /// and so takes half of two processors, while a child of another test is a zombie.
  package static let allowExitTests = areOn

  /// Returns the number of runs of a campaign, which is `.slow`: a sample, or all.
  package static func count(_ sample: Int, all: Int) -> Int { areComplete ? all : sample }

  /// Returns the steps of a campaign from 1 on: every n-th with a random start, or all.
  package static func steps(everyOf sample: Int) -> StrideTo<Int> {
    let distance = count(sample, all: 1)
    return stride(from: .random(in: 1...distance), to: .max, by: distance)
  }

  /// Returns the cases that a test tries: all with the switch, else the first `quick`.
  package static func cases<Case>(_ all: [Case], quick: Int) -> [Case] {
    areOn ? all : Array(all.prefix(quick))
  }
}

import Glibc

/// The switch for what takes minutes: `Scripts/test --slow`, which continuous integration uses.
///
/// Campaigns of thousands of runs are samples in it; `Scripts/test --all` runs them completely, for
/// an hour.
package enum SlowTests {
  package static let areOn = getenv("HOSTEDCONTENT_SLOW_TESTS") != nil
  /// Whether campaigns are complete: `Scripts/test --all`.
  package static let areComplete =
    areOn && String(cString: getenv("HOSTEDCONTENT_SLOW_TESTS")) == "all"

  /// How many runs a campaign has.
  package static func count(quick: Int, slow: Int, all: Int) -> Int {
    areComplete ? all : areOn ? slow : quick
  }

  /// The steps from 1 on that a campaign tries: all of them, or every n-th from a random one on.
  package static func steps(everyOf quick: Int, slow: Int) -> StrideTo<Int> {
    let distance = count(quick: quick, slow: slow, all: 1)
    return Swift.stride(from: .random(in: 1...distance), to: .max, by: distance)
  }

  /// How far the places are apart that a test tries: each with the switch, every `quick`th without.
  package static func stride(quick: Int) -> Int { areOn ? 1 : quick }

  /// The cases that a test tries: all with the switch, the first `quick` ones without.
  package static func cases<Case>(_ all: [Case], quick: Int) -> [Case] {
    areOn ? all : Array(all.prefix(quick))
  }
}

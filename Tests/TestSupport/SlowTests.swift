import Glibc

/// The switch for what takes minutes: `Scripts/test --slow`, which continuous integration uses.
package enum SlowTests {
  package static let areOn = getenv("HOSTEDCONTENT_SLOW_TESTS") != nil

  /// How far the places are apart that a test tries: each with the switch, every `quick`th without.
  package static func stride(quick: Int) -> Int { areOn ? 1 : quick }

  /// The cases that a test tries: all with the switch, the first `quick` ones without.
  package static func cases<Case>(_ all: [Case], quick: Int) -> [Case] {
    areOn ? all : Array(all.prefix(quick))
  }
}

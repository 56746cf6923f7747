import Foundation

/// The sizes of tests: `Scripts/test`, `Scripts/test --slow` and `Scripts/campaign`.
///
/// With `--slow`, which CI uses, campaigns of thousands of runs are sampled. `Scripts/campaign`
/// runs them completely, in parts.
package enum SlowTests {
  private static let environment = ProcessInfo.processInfo.environment

  package static let areOn = environment["HOSTEDCONTENT_SLOW_TESTS"] != nil
  /// Whether `Scripts/campaign` runs this test completely.
  package static let areComplete = environment["HOSTEDCONTENT_SLOW_TESTS"] == "all"

  /// Whether tests may use exit tests.
  ///
  /// After the first one, a thread of swift-testing waits for any child of the process. It spins,
  /// and so takes half of two processors, while a child of another test is a zombie.
  package static let allowExitTests = areOn

  /// Returns the number of runs of a campaign, which is `.slow`: a sample, all, or those of a part.
  ///
  /// A sample takes at most 20 seconds of a processor.
  package static func count(_ sample: Int, all: Int) -> Int {
    guard areComplete else { return sample }
    return environment["HOSTEDCONTENT_CAMPAIGN_SIZE"].flatMap { Int($0) } ?? all
  }

  /// Returns the steps of a campaign from 1 on: every n-th with a random start, or all.
  package static func steps(everyOf sample: Int) -> StrideTo<Int> {
    let distance = areComplete ? 1 : sample
    return stride(from: .random(in: 1...distance), to: .max, by: distance)
  }

  /// Returns the cases that a test tries: all with the switch, else the first `quick`.
  package static func cases<Case>(_ all: [Case], quick: Int) -> [Case] {
    areOn ? all : Array(all.prefix(quick))
  }

  /// Returns the cases of this part of a campaign: all, or every n-th if `Scripts/campaign` says
  /// so.
  package static func part<Case>(of all: [Case]) -> [Case] {
    let numbers = environment["HOSTEDCONTENT_CAMPAIGN_PART"]?.split(separator: "/").map { Int($0) }
    guard let numbers, numbers.count == 2, let part = numbers[0], let parts = numbers[1] else {
      return all
    }
    return stride(from: part, to: all.count, by: parts).map { all[$0] }
  }

  /// Returns a new seed and prints it, or `HOSTEDCONTENT_SEED`, which repeats a run.
  package static func seed(of campaign: String) -> UInt64 {
    let given = environment["HOSTEDCONTENT_SEED"].flatMap { UInt64($0) }
    let seed = given ?? .random(in: 1...999_999_999)
    print("\(campaign): seed \(seed); HOSTEDCONTENT_SEED=\(seed) repeats it")
    return seed
  }
}

@testable import HostedModel
import FoundationEssentials
import Testing

@Suite struct CollectionPolicyTests {
  private func candidate(_ version: ContentVersion, isCurrent: Bool = false) -> CollectionCandidate
  {
    let content = InstalledContent(
      contentIdentifier: "book", productIdentifier: "book", version: version, size: 1,
      entryCount: 1, date: Date(timeIntervalSinceReferenceDate: 0))
    return (content: content, isCurrent: isCurrent, isProtected: false, lastUse: 1)
  }

  @Test(arguments: [Int.min, -1, 0, 1])
  func `the current version is kept for any number of kept versions`(_ count: Int) throws {
    var policy = CollectionPolicy()
    policy.keptVersions = count
    let encoded = try JSONEncoder().encode(policy)
    for policy in [policy, try JSONDecoder().decode(CollectionPolicy.self, from: encoded)] {
      let plan = policy.plan([candidate("2"), candidate("1", isCurrent: true)])
      #expect(plan.surplus.map(\.version) == ["2"])
      #expect(plan.overQuota.isEmpty)
    }
  }

  @Test func `the newest versions are kept, and the quota removes the current one last`() {
    let policy = CollectionPolicy(keptVersions: 2, maximumBytes: 0)
    let plan = policy.plan([candidate("1"), candidate("2", isCurrent: true), candidate("3")])
    #expect(plan.surplus.map(\.version) == ["1"])
    #expect(plan.overQuota.map(\.version) == ["3", "2"])
  }
}

import HostedModel
import HostedTestSupport
import Testing

@testable import AppUpdate

@Suite("App versions")
struct VersionTests {
  struct Pair: Sendable, CustomStringConvertible {
    let left: String
    let relation: String
    let right: String
    var description: String { "\(left) \(relation) \(right)" }

    init(_ line: Substring) {
      let words = line.split(separator: " | ").map(String.init)
      (left, relation, right) = (words[0], words[1], words[2])
    }
  }

  static let pairs = """
    1.0.2 | < | 1.0.3
    1.0.3 | < | 1.1.2
    1.1.2 | < | 2.0.0
    1.9 | < | 1.10
    1.9.0 | < | 1.10.0
    1.4 | < | 1.4.1
    1.0 | = | 1.0.0
    2.4 | < | 2.31
    1 | < | 2.0.0.0
    2 | < | 2.0.1
    1 | = | 1.0
    1 | = | 1.0.0.0.0
    0 | = | 0.0.0
    0 | < | 0.0.1
    0.9 | < | 1
    1.5 | < | 2.0
    2.0 | > | 1.5
    3.0.0 | > | 2.9.9
    1.2.3 | < | 2.1.0
    1.10 | > | 1.9
    1.10 | > | 1.1
    1.100 | > | 1.99
    10.0 | > | 9.9
    100 | > | 99.99.99
    1.2 | = | 1.2.0
    1.2.0 | = | 1.2
    1.2.1 | > | 1.2
    1.0.0.1 | > | 1.0
    1.0.0.1 | < | 1.0.1
    4.5.6.7 | < | 4.5.6.8
    4.5.6.7.8 | > | 4.5.6.7
    01.02 | = | 1.2
    1.02 | = | 1.2
    1.010 | = | 1.10
    1.001 | < | 1.2
    00 | = | 0
    2023.10.1 | > | 2023.9.30
    2026.1 | > | 2025.12.31
    1.0.20260115 | > | 1.0.20251231
    999999999999999999 | > | 999999999999999998
    1.999999999999999999 | < | 2
    0000000000000000000000001 | = | 1
    v1.2 | = | 1.2
    V2.0 | > | v1.9
    1.2-beta | < | 1.2
    1.2-beta | > | 1.1.9
    1.2-alpha | < | 1.2-beta
    1.2-beta | < | 1.2-rc
    1.2-beta.2 | < | 1.2-beta.10
    1.2-beta2 | < | 1.2-beta10
    1.2-beta | < | 1.2-beta.1
    1.2-beta1 | = | 1.2-beta.1
    1.2b3 | = | 1.2-b.3
    1.2 beta 3 | = | 1.2-beta.3
    1.2_beta | = | 1.2-beta
    1.2-BETA | = | 1.2-beta
    1.2.0-beta | = | 1.2-beta
    1.2-beta | < | 1.2.1-alpha
    1.2-1 | < | 1.2-alpha
    1.2-1 | < | 1.2-2
    1.2-beta.01 | = | 1.2-beta.1
    1.2-rc.1 | < | 1.2
    1.2.0-rc.1 | < | 1.2.0.1
    1.2+345 | = | 1.2
    1.2+345 | = | 1.2+346
    1.2-beta+7 | < | 1.2+1
    1.2-alpha.beta | > | 1.2-alpha.1
    1.2-beta | < | 1.10-alpha
    """.split(separator: "\n").map(Pair.init)

  @Test("Versions are compared number by number, then by suffix", arguments: pairs)
  func order(pair: Pair) throws {
    let (left, right) = (try version(pair.left), try version(pair.right))
    let found = left < right ? "<" : left == right ? "=" : left > right ? ">" : "?"
    #expect(found == pair.relation)
    #expect((right < left) == (pair.relation == ">"))
    #expect((left.hashValue == right.hashValue) == (pair.relation == "="))
    #expect((left.difference(from: right) == nil) == (pair.relation == "="))
    #expect(left.difference(from: right) == right.difference(from: left))
  }

  @Test("The table has at least 60 pairs")
  func size() { #expect(Self.pairs.count >= 60) }

  @Test(
    "Spaces around a version are ignored", arguments: [" 1.2", "1.2 ", "\t1.2\r\n", "  1.2  "])
  func spaces(text: String) throws {
    #expect(try version(text) == version("1.2"))
    #expect(try version(text).rawValue == "1.2")
  }

  @Test(
    "Invalid versions are refused",
    arguments: [
      "", " ", ".", "1.", ".1", "1..2", "1.x", "x", "beta", "v", "vv1", "-1", "1.-2", "1,2",
      "1.2 (34)", "1.2/3", "1.2-", "1.2-.", "1.2--beta", "1.2-beta.", "1.2-bêta", "१.२",
      "1.2+a b?", "1000000000000000000", "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1", "nil", "1.2\u{0}3",
      "1 .2", "1. 2", "1.2-1000000000000000000", String(repeating: "1", count: 201),
    ])
  func refused(text: String) {
    #expect(code { try version(text) } == .versionInvalid)
  }

  /// Common mistakes in version checks, and their results.
  enum Mistake: CaseIterable, Sendable {
    case asFloat, asText, byInequality, withoutCarry, byLength, numericSearch

    /// Whether this mistake calls `offered` newer than `installed`.
    func isNewer(_ offered: String, than installed: String) -> Bool {
      let numbers = { (text: String) in text.split(separator: ".").map { Int($0) ?? 0 } }
      let (new, old) = (numbers(offered), numbers(installed))
      switch self {
      case .asFloat: return (Double(offered) ?? 0) > (Double(installed) ?? 0)
      case .asText: return offered > installed
      case .byInequality: return offered != installed
      case .withoutCarry: return zip(new, old).contains { $0 > $1 }
      case .byLength: return zip(new, old).allSatisfy { $0 >= $1 } && new.count >= old.count
      case .numericSearch:
        for (left, right) in zip(new, old) where left != right { return left > right }
        return new.count > old.count
      }
    }

    /// A case that this mistake gets wrong.
    var victim: (offered: String, installed: String, isNewer: Bool) {
      switch self {
      case .asFloat: ("2.31", "2.4", true)
      case .asText: ("1.10", "1.9", true)
      case .byInequality: ("1.2", "1.3", false)
      case .withoutCarry: ("1.5", "2.0", false)
      case .byLength: ("2.0", "1.0.5", true)
      case .numericSearch: ("1.0.0", "1.0", false)
      }
    }
  }

  @Test("No classic mistake is made", arguments: Mistake.allCases)
  func mistakes(mistake: Mistake) throws {
    let (offered, installed, isNewer) = mistake.victim
    #expect(
      mistake.isNewer(offered, than: installed) != isNewer, "the mistake gives another result")
    #expect(try (version(offered) > version(installed)) == isNewer)
  }

  @Test("A build number is never compared")
  func buildNumber() throws {
    // The store's 2.4 would never be an update for build 2301 of 2.3.
    var installed = try app("2.3")
    installed.build = "2301"
    let decision = AppUpdatePolicy().decision(
      about: UpdateOffer(listing("2.4")), installed: installed, history: UpdateHistory(), now: noon)
    #expect(decision.action == .remind)
    #expect(decision.installed.rawValue == "2.3")
  }

  @Test(
    "The first difference is the level of an update",
    arguments: [
      ("1.0", "2.0", AppVersion.Level.major), ("1.0", "1.1", .minor), ("1.0", "1.0.1", .patch),
      ("1.0", "1.0.0.1", .revision), ("1.0", "1.0.0.0.7", .revision), ("1.9.9", "2.0", .major),
      ("1.9.9", "1.10", .minor), ("2.0-beta", "2.0", .suffix), ("2.0-beta", "2.0.1", .patch),
    ])
  func level(old: String, new: String, level: AppVersion.Level) throws {
    #expect(try version(new).difference(from: version(old)) == level)
  }

  @Test("Encoding and decoding preserves a version's text")
  func coding() throws {
    let original = try version("v1.02-Beta+5")
    #expect(original.rawValue == "v1.02-Beta+5")
    #expect(original.isPrerelease)
    let field = JSONValue.string(original.rawValue)
    #expect(field.string.flatMap { try? version($0) } == original)
  }
}

import HostedModel
import FoundationEssentials
import Testing

@testable import AppUpdate

/// Policies and decisions in JSON.
extension PolicyTests {
  @Test(
    "A frequency in JSON has its interval in seconds",
    arguments: [
      (AppUpdatePolicy.Frequency.immediately, #"{"immediately":{}}"#), (.daily, #"{"daily":{}}"#),
      (.weekly, #"{"weekly":{}}"#), (.every(.seconds(600)), #"{"every":{"seconds":600}}"#),
      (.every(.milliseconds(2500)), #"{"every":{"seconds":2.5}}"#),
    ])
  func frequency(frequency: AppUpdatePolicy.Frequency, json: String) throws {
    #expect(String(decoding: try JSONEncoder().encode(frequency), as: UTF8.self) == json)
    let read = try JSONDecoder().decode(AppUpdatePolicy.Frequency.self, from: Data(json.utf8))
    #expect(read == frequency)
  }

  @Test("An interval in JSON is limited", arguments: [("1e300", 3_155_760_000), ("-1", 0)])
  func interval(seconds: String, read: Int) throws {
    let json = Data(#"{"every":{"seconds":\#(seconds)}}"#.utf8)
    let frequency = try JSONDecoder().decode(AppUpdatePolicy.Frequency.self, from: json)
    #expect(frequency == .every(.seconds(read)))
  }

  @Test(
    "The names of reasons and of a policy's fields in JSON are stable",
    arguments: [
      (
        UpdateDecision.Reason.serverRequiresUpdate, #"{"serverRequiresUpdate":{}}"#,
        "serverRequiresUpdate"
      ),
      (.pushRequiresUpdate, #"{"pushRequiresUpdate":{}}"#, "pushRequiresUpdate"),
      (.belowMinimum("1.5"), #"{"belowMinimum":{"_0":"1.5"}}"#, "belowMinimum"),
      (.newVersion(.major), #"{"newVersion":{"_0":"major"}}"#, "newVersion"),
    ])
  func names(reason: UpdateDecision.Reason, json: String, name: String) throws {
    #expect(String(decoding: try JSONEncoder().encode(reason), as: UTF8.self) == json)
    #expect(try JSONDecoder().decode(UpdateDecision.Reason.self, from: Data(json.utf8)) == reason)
    #expect(reason.name == name)
    let policy = String(decoding: try JSONEncoder().encode(AppUpdatePolicy()), as: UTF8.self)
    #expect(policy.contains(#""allowsItmsServices":false"#))
    let rule = String(
      decoding: try JSONEncoder().encode(AppUpdatePolicy.Rule.ignore), as: UTF8.self)
    #expect(rule.contains(#""action":"none""#))
  }

  @Test("A minimum age in JSON is in days, at least zero and limited")
  func releaseAgeInJSON() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(AppUpdatePolicy()), as: UTF8.self)
    #expect(text.contains(#""daysSinceRelease":1,"#))
    for (days, age) in [("0.5", 43_200), ("-1", 0), ("1e300", 3_155_760_000)] {
      let json = text.replacing(
        #""daysSinceRelease":1,"#, with: #""daysSinceRelease":\#(days),"#)
      let policy = try JSONDecoder().decode(AppUpdatePolicy.self, from: Data(json.utf8))
      #expect(policy.minimumReleaseAge == .seconds(age))
    }
  }

  @Test("In JSON, a policy has every field, except the minimum version")
  func requiredFields() throws {
    let policy = try JSONEncoder().encode(AppUpdatePolicy(minimumSupportedVersion: "1.0"))
    let fields = try JSONDecoder().decode([String: JSONValue].self, from: policy)
    #expect(fields.count == 10)
    for name in fields.keys {
      let rest = try JSONEncoder().encode(fields.filter { $0.key != name })
      let read = try? JSONDecoder().decode(AppUpdatePolicy.self, from: rest)
      #expect((read != nil) == (name == "minimumSupportedVersion"), "\(name)")
    }
  }

  @Test("A minimum age of any number of seconds is the one that was set, also after JSON")
  func exactReleaseAge() throws {
    for seconds in [11, 780, 5_880] {
      let policy = AppUpdatePolicy(minimumReleaseAge: .seconds(seconds))
      #expect(policy.minimumReleaseAge == .seconds(seconds))
      let read = try JSONDecoder().decode(
        AppUpdatePolicy.self, from: JSONEncoder().encode(policy))
      #expect(read.minimumReleaseAge == .seconds(seconds))
    }
  }
}

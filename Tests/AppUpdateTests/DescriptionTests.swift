import FoundationEssentials
import HostedModel
import Testing

@testable import AppUpdate

/// What `print` shows of public values.
@Suite("Descriptions")
struct DescriptionTests {
  private func decision() -> UpdateDecision {
    UpdateDecision(
      .remind, .newVersion(.major), installed: "1.0", offer: UpdateOffer(listing("2.0")))
  }

  /// Public values of all kinds, and what `print` shows.
  private func values() throws -> [(Any, String)] {
    let decision = decision()
    let prompt = UpdatePrompt(
      decision, appName: "Courier", texts: UpdateTexts(), languages: ["en"])
    var push = UpdatePush(
      fields: ["type": .string("t"), "account": .string("alice"), "version": .string("3.0")])
    var rule = AppUpdatePolicy(all: .hinting, minimumSupportedVersion: "1.5")
    rule.major = .standard
    var history = UpdateHistory()
    history.note(UpdateOffer(listing("2.0")))
    let made = "remind: newVersion(major), installed 1.0, offered 2.0"
    var found: [(Any, String)] = [
      (decision, made), (AppUpdateEvent.decided(decision), "decided: \(made)"),
      (UpdateDecision.Reason.belowMinimum("2.0"), "belowMinimum(2.0)"),
      (
        UpdateDecision.Reason.remindedRecently(until: noon),
        "remindedRecently(until: 2026-01-15T12:00:00Z)"
      ),
      (AppVersion.Level.patch, "patch"), (UpdateOffer(listing("2.0")), "store: 2.0"),
      (push, "t for alice: 3.0"), (PushOutcome.ignored(.upToDate), "ignored: upToDate"),
      (AppUpdatePolicy.Frequency.every(.seconds(600)), "every 600.0 seconds"),
      (AppUpdatePolicy.Rule.standard, "remind daily, can be skipped"),
      (
        rule,
        "major: remind daily, can be skipped; minor: remind weekly; patch: remind weekly; "
          + "revision: remind weekly; suffix: remind weekly; server: remind daily, can be skipped; "
          + "minimum: 1.5"
      ),
      (history, "highest in store 2.0"), (listing("2.0"), "com.example.courier 2.0"),
      (AppFinding.offered(listing("2.0")), "offered: com.example.courier 2.0"),
      (AppFinding.unknown(tried: ["fi", "se"]), "not offered in fi, se"),
      (LookupResults([listing("2.0")]), "1 results: com.example.courier 2.0"),
      (LookupQuery(.bundleIDs(["a.b"]), country: "fi"), "bundleId=a.b&country=fi"),
      (SearchQuery("book", entity: nil), "term=book&media=software"),
      (
        try LookupRequest(url: link("https://example.com/lookup")), "GET https://example.com/lookup"
      ),
      (LookupResponse(status: 404, body: [1, 2]), "404, 2 bytes"),
      (try app("1.2"), "Courier 1.2"),
      (
        AppVersionAnswer(hasNewVersion: true, requiresUpdate: false),
        #"{"hasNewVersion":true,"needUpgrade":false}"#
      ),
      (JSONValue.array([.string("a"), .null]), #"["a",null]"#),
    ]
    push = UpdatePush(fields: [:])
    found.append((push, "push without a type"))
    found.append(
      (
        try #require(prompt),
        "Update available Courier 2.0 is available; you have 1.0. [Update] [Later]"
      ))
    return found
  }

  @Test("print shows values in one line of plain words")
  func printed() throws {
    for (value, text) in try values() { #expect(String(describing: value) == text) }
  }

  @Test("A list of values has no module names")
  func modules() throws {
    for (value, _) in try values() {
      let text = String(describing: [value])
      #expect(!text.contains("AppUpdate."), "\(text)")
      #expect(!text.contains("Hosted"), "\(text)")
    }
  }
}

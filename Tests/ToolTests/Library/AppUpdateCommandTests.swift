import Foundation
import HostedTestSupport
import Testing

@testable import HostedContentTool

@Suite("app-update")
struct AppUpdateCommandTests {
  static let apps = #"""
    {"apps": [{"listing": {"trackId": 364709193, "bundleId": "com.example.courier",
      "trackName": "Courier", "version": "2.10", "minimumOsVersion": "15.0",
      "releaseNotes": "Faster", "currentVersionReleaseDate": "2025-12-01T08:00:00Z",
      "trackViewUrl": "https://apps.example.com/app/id364709193"},
      "countries": ["us", "cn"], "forcedAccounts": ["ada"]}]}
    """#

  /// Calls `body` with a tool and the URL of a store that offers one app.
  private func serving(
    _ apps: String = Self.apps, _ body: (Tool, String) async throws -> Void
  ) async throws {
    let tool = try Tool.withStore()
    try apps.write(
      toFile: tool.folder.path("store/apps.json"), atomically: true, encoding: .utf8)
    try await ServeTests().serving(tool, []) { _, url in try await body(tool, url.absoluteString) }
  }

  @Test("It reports a newer version as text and as JSON")
  func offered() async throws {
    try await serving { tool, server in
      let question = ["app-update", "--bundle-id", "com.example.courier", "--server", server]
      let newer = try tool.run(question + ["--installed", "2.9"])
      #expect(newer.status == 0)
      #expect(
        newer.output == "Courier 2.10 is available; installed is 2.9.\n"
          + "https://apps.example.com/app/id364709193\n")
      let same = try tool.run(question + ["--installed", "2.10.0", "--require-update"])
      #expect(same.status == 3)
      #expect(same.output == "Courier 2.10.0 is up to date.\n")
      let json = try tool.run(question + ["--installed", "1.0", "--json"]).json()
      #expect(json["action"] as? String == "remind")
      #expect(json["reason"] as? String == "newVersion")
      #expect(json["offered"] as? String == "2.10")
      #expect(json["level"] as? String == "major")
      #expect(json["found"] as? String == "offered")
      #expect(json["country"] as? String == "us")
      #expect(json["appleID"] as? Int == 364_709_193)
      #expect(json["releaseDate"] as? String == "2025-12-01T08:00:00Z")
    }
  }

  @Test("Minimum, system, account and the store link have options")
  func options() async throws {
    try await serving { tool, server in
      let question = [
        "app-update", "--id", "https://apps.apple.com/us/app/x/id364709193?mt=8", "--server",
        server,
        "--installed", "1.0",
      ]
      #expect(try tool.run(question + ["--minimum", "1.5"]).output.contains("is required"))
      #expect(try tool.run(question + ["--system", "14.0"]).output.contains("needs system 15.0"))
      #expect(try tool.run(question + ["--system", "15.0"]).output.contains("is available"))
      let account = try tool.run([
        "app-update", "--bundle-id", "com.example.courier", "--server", server, "--installed",
        "2.0", "--account", "ada",
      ])
      #expect(account.output.contains("is required; installed is 2.0"))
    }
  }

  @Test("An app that is not sold in the country is an error, unless another country has it")
  func elsewhere() async throws {
    try await serving { tool, server in
      let question = [
        "app-update", "--id", "364709193", "--server", server, "--installed", "1.0", "--country",
        "de",
      ]
      let missing = try tool.run(question)
      #expect(missing.status == 1)
      #expect(missing.errors.contains("not found in de"))
      let found = try tool.run(question + ["--also", "fr,cn"])
      #expect(found.status == 0)
      #expect(found.output.contains("is available, in cn only"))
    }
  }

  @Test("An app of one country is found with an account, and another country is not ignored")
  func accountAndCountry() async throws {
    let apps = Self.apps.replacing(#"["us", "cn"]"#, with: #"["cn"]"#)
    try await serving(apps) { tool, server in
      let question = [
        "app-update", "--bundle-id", "com.example.courier", "--server", server, "--installed",
        "2.0", "--account", "ada",
      ]
      for more in [[], ["--country", "cn"]] {
        #expect(try tool.run(question + more).output.contains("is required; installed is 2.0"))
      }
      let elsewhere = try tool.run(question + ["--country", "us"])
      #expect(elsewhere.status == 1)
      #expect(try tool.run(question + ["--also", "cn"]).status == 2)
    }
  }

  @Test("With an account, --entity selects the Mac app of two with one bundle identifier")
  func entity() async throws {
    let apps = #"""
      {"apps": [
        {"listing": {"bundleId": "com.example.courier", "version": "3.0", "kind": "software"}},
        {"listing": {"bundleId": "com.example.courier", "version": "2.0", "kind": "mac-software"}}
      ]}
      """#
    try await serving(apps) { tool, server in
      let question = [
        "app-update", "--bundle-id", "com.example.courier", "--server", server, "--installed",
        "2.0", "--account", "ada",
      ]
      #expect(try tool.run(question).output.contains("3.0 is available"))
      let mac = try tool.run(question + ["--entity", "macSoftware"])
      #expect(mac.output == "com.example.courier 2.0 is up to date.\n")
    }
  }

  @Test("The guide's apps.json answers the guide's command, and forces updates as it says")
  func guide() async throws {
    let page = try DocumentPage("Documentation/AppUpdate.md")
    let apps = try #require(page.blocks(in: "json").first).text
    let command = try #require(page.codeSpans.first { $0.hasPrefix("hostedcontent app-update ") })
    try await serving(apps) { tool, server in
      // The file offers the app in other countries than the command's.
      for country in ["us", "cn"] {
        let answer = try tool.follow("\(command) --server \(server) --country \(country)")
        #expect(answer.output.hasPrefix("Courier 2.0 is available; installed is 1.0.\n"))
      }
      let elsewhere = try tool.follow("\(command) --server \(server)")
      #expect(elsewhere.status == 1 && elsewhere.errors.contains("not found in de"))
      for (account, version, isForced) in [
        ("bob", "1.4", true), ("bob", "1.6", true), ("bob", "1.7", false), ("ada", "1.7", true),
      ] {
        let answer = try tool.run([
          "app-update", "--bundle-id", "com.example.courier", "--server", server, "--installed",
          version, "--account", account,
        ])
        #expect(answer.output.contains("is required") == isForced, "\(answer.output)")
        #expect(answer.output.hasSuffix("\nhttps://example.com/courier/get\n"))
      }
    }
  }

  @Test("A feed is read without a server")
  func feed() throws {
    let tool = try Tool()
    let lines = ["#application_id\u{1}title\u{1}version\u{1}view_url", "5\u{1}Five\u{1}3.0\u{1}"]
    try lines.map { "\($0)\u{2}\n" }.joined()
      .write(toFile: tool.folder.path("feed"), atomically: true, encoding: .utf8)
    let result = try tool.succeed("app-update", "--id", "5", "--installed", "2.0", "--feed", "feed")
    #expect(result.output == "Five 3.0 is available; installed is 2.0.\n")
    try tool.fail(
      "app-update", "--id", "6", "--installed", "2.0", "--feed", "feed",
      saying: ["does not contain app 6"])
  }

  @Test(
    "Invalid queries are usage errors, and nothing is sent",
    arguments: [
      ["--id", "5"], ["--installed", "1.0"], ["--id", "0", "--installed", "1.0"],
      ["--id", "5", "--bundle-id", "a.b", "--installed", "1.0"],
      ["--id", "5", "--installed", "new"], ["--id", "5", "--installed", ""],
      ["--id", "5", "--installed", "1.0", "--country", "en_US"],
      ["--id", "5", "--installed", "1.0", "--also", "cn,zh-CN"],
      ["--bundle-id", "a b", "--installed", "1.0"],
      ["--id", "5", "--installed", "1.0", "--entity", "mac software"],
      ["--id", "5", "--installed", "1.0", "--server", "ftp://x"],
      ["--id", "5", "--installed", "1.0", "--server", "http://127.0.0.1:1/?app=5"],
      ["--id", "5", "--installed", "1.0", "--account", "ada"],
      ["--bundle-id", "a.b", "--installed", "1.0", "--feed", "feed"],
      ["--id", "5", "--installed", "1.0", "--feed", "feed", "--country", "cn"],
      ["--id", "5", "--installed", "1.0", "--minimum", "x"],
    ])
  func usage(words: [String]) throws {
    let result = try Tool().run(["app-update"] + words)
    #expect(result.status == 2)
    #expect(result.errors.contains("hostedcontent app-update --help"), "\(result.errors)")
  }
}

import HostedModel
import ContentStore
import Foundation
import HostedTestSupport
import Testing

/// The findings of packages that `store publish` refuses.
@Suite("Findings of a publication")
struct PublicationFindingsTests {
  private let tool: Tool

  /// Creates a store, and an archive with a program and a link that leaves the content.
  init() throws {
    tool = try Tool.withStore()
    let info = """
      <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
      <key>ContentVersion</key><string>1.0</string>
      <key>IAPProductIdentifier</key><string>a</string></dict></plist>
      """
    try tool.write(info, to: "ContentInfo.plist")
    let made = try tool.follow(
      """
      mkdir Contents
      printf '#!/bin/sh\\n' > Contents/run
      ln -s ../../outside Contents/link
      tar --create --format ustar --file two.pkg ContentInfo.plist Contents/run Contents/link
      """)
    try #require(made.status == 0, "\(made.errors)")
  }

  private let truncated = Tool.sample("bad/truncated.pkg")

  /// Returns the lines on standard error of a publication that is refused.
  private func refusals(_ packages: String...) throws -> [String] {
    let before = try tool.tree("store")
    let result = try tool.fail(["store", "publish", "store"] + packages)
    #expect(result.output == "")
    #expect(try tool.tree("store") == before)
    return result.errors.split(separator: "\n").map(String.init)
  }

  @Test("Each finding of each package is one line with its remedy, as in validate")
  func lines() throws {
    let lines = try refusals("two.pkg", truncated, "missing.pkg")
    var expected: [String] = []
    for path in ["two.pkg", truncated] {
      let valid = try tool.run("validate", path).output.split(separator: "\n")
      // The line without the name of the rule.
      expected += valid.map { String($0[..<($0.lastIndex(of: "[") ?? $0.endIndex)]) }
    }
    #expect(expected.count >= 3)
    try #require(lines.count == expected.count + 2, "\(lines)")
    for (line, finding) in zip(lines, expected) {
      #expect(line.hasPrefix("hostedcontent: \(finding)"), "\(line)")
      #expect(line.contains(/\. [A-Z].*\. \[6\d\d\]$/), "\(line)")
    }
    let missing = lines[expected.count]
    #expect(missing.hasPrefix("hostedcontent: missing.pkg: Cannot open missing.pkg: "))
    #expect(missing.hasSuffix(" [301]"), "\(missing)")
    let count = expected.count + 1
    #expect(
      lines.last?.hasPrefix(
        "hostedcontent: Nothing was published: \(count) findings in 3 packages. ") == true)
  }

  @Test("A single finding is one line")
  func single() throws {
    let lines = try refusals(truncated)
    #expect(lines.count == 1)
    #expect(lines.first?.hasPrefix("hostedcontent: \(truncated): ") == true, "\(lines)")
  }

  @Test("In Swift, each finding has package, entry, rule, number, message and remedy")
  func library() throws {
    let store = try StoreFolder.open(at: URL(filePath: tool.folder.path("store")))
    let packages = ["two.pkg", "missing.pkg"].map { URL(filePath: tool.folder.path($0)) }
    var findings: [Finding] = []
    let error = #expect(throws: ContentError.self) {
      try store.publish(packages) { findings.append($0) }
    }
    #expect(findings.compactMap(\.subject) == [packages[0], packages[0], packages[1]].map(\.path))
    #expect(Set(findings.compactMap(\.path)) == ["Contents/run", "Contents/link"])
    #expect(findings.map { $0.rule == nil } == [false, false, true])
    #expect(findings.map(\.code).contains(.executableContent))
    #expect(findings.last?.code == .fileMissing)
    for finding in findings {
      #expect(error?.message.contains(finding.message) == true)
      #expect(error?.message.contains(finding.remedy) == true)
    }
    let encoded = try JSONEncoder().encode(findings)
    #expect(try JSONDecoder().decode([Finding].self, from: encoded) == findings)
  }
}

import HostedHTTPValues
import HostedModel
import HostedTransfer
import Foundation
import HostedContent
import HostedTestSupport
import Testing

@testable import HostedHostCheck

/// The rules of the check, without a server.
@Suite("The rules of the check of a hosted store")
struct HostingRulesTests {
  private func answer(_ status: Int, _ headers: [String: String] = [:], body: String = "") throws
    -> TransferResponse
  {
    TransferResponse(
      HTTPHead(status: status, headers: HTTPHeaders(headers)), body: Array(body.utf8),
      from: try WebURL("https://a.example/x"))
  }

  @Test("A sample has the first and the last element, and others at even distances")
  func sample() {
    #expect(HostingRules.sample(Array(0..<1024), 16) == (0..<16).map { $0 * 1023 / 15 })
    #expect(HostingRules.sample(Array(0..<17), 16).count == 16)
    #expect(HostingRules.sample([1, 2, 3], 2) == [1, 3])
    #expect(HostingRules.sample([1, 2, 3], 1) == [1])
    #expect(HostingRules.sample([1, 2], 16) == [1, 2])
    #expect(HostingRules.sample([Int](), 16).isEmpty)
  }

  @Test("The text of a server cannot control a terminal")
  func hostileText() throws {
    let encoding = "gzip\u{1b}[31m\u{202e}"
    let finding = try #require(
      HostingRules.file(try answer(200, ["content-encoding": encoding]), "x"))
    let isPrintable = finding.line.unicodeScalars.allSatisfy(\.isPrintable)
    #expect(isPrintable, "\(finding.line)")
    let cache = ["cache-control": "max-age=999999, \u{1b}[31m\u{202e}"]
    let kept = try #require(HostingRules.cache(try answer(200, cache), "x", now: Date()))
    #expect(kept.line.contains("max-age=999999"))
    let keepsPrintable = kept.line.unicodeScalars.allSatisfy(\.isPrintable)
    #expect(keepsPrintable, "\(kept.line)")
  }

  @Test(
    "403 for a missing file is a warning, and an error for clients with a token",
    arguments: [
      (false, Finding.Severity.warning), (true, Finding.Severity.error),
    ])
  func denied(isAuthorized: Bool, severity: Finding.Severity) throws {
    let answer = try answer(403)
    let finding = HostingRules.missing(
      answer, "x", askedFor: answer.url, isAuthorized: isAuthorized)
    #expect(finding?.severity == severity)
    #expect(finding?.hostingRule == .statusForMissingFile)
  }

  @Test("A redirect of a missing file to a page is found, and one to a missing page is not")
  func redirectedMissing() throws {
    let asked = try WebURL("https://a.example/missing")
    let expected: [(Int, HostingRule?)] = [(200, .statusForMissingFile), (404, nil)]
    for (status, kind) in expected {
      let finding = HostingRules.missing(
        try answer(status), "x", askedFor: asked, isAuthorized: false)
      #expect(finding?.hostingRule == kind)
    }
  }

  @Test(
    "Keys are found by their content, not by the status",
    arguments: [
      ("timestamp.pem", "-----BEGIN PRIVATE KEY-----", true), ("timestamp.pem", "<html>", false),
      ("published.json", "{\"firstRoot\":{}}", true), ("published.json", "<html>", false),
      ("published.json", "{\"error\":\"not found\"}", false),
      ("", "<a href=\"root.pem\">", true), ("", "Welcome", false),
    ])
  func keys(name: String, body: String, isFound: Bool) throws {
    let finding = HostingRules.keys(try answer(200, body: body), "https://a.example/keys/\(name)")
    #expect((finding?.hostingRule == .keysReachable) == isFound)
    #expect(HostingRules.keys(try answer(404, body: body), "keys/\(name)") == nil)
  }

  @Test(
    "A file that never changes should be kept by caches for an hour or longer",
    arguments: [
      ("no-cache", true), ("no-store", true), ("max-age=60", true),
      ("max-age=0, s-maxage=7200", false),
      ("public, max-age=31536000, immutable", false), ("public", false), (nil, false),
    ] as [(String?, Bool)])
  func uncached(value: String?, isFound: Bool) throws {
    let headers = value.map { ["cache-control": $0] } ?? [:]
    let finding = HostingRules.uncached(try answer(200, headers), "x", now: Date())
    #expect((finding?.hostingRule == .uncached) == isFound)
    #expect(finding?.severity ?? .note == .note)
  }

  @Test("Many findings of one kind are counted, errors come first")
  func report() {
    func finding(_ severity: Finding.Severity, _ number: Int) -> Finding {
      Finding(severity, .rangesIgnored, "\(number).pkg", "No ranges", remedy: "Allow them")
    }
    var report = HostingReport(url: "https://a.example/")
    for number in 1...3 { report.add(finding(.warning, number)) }
    report.add(finding(.error, 4))
    report.add(finding(.error, 4))
    report.sort()
    #expect(
      report.findings.map(\.line) == [
        "error: No ranges — Allow them", "warning: No ranges (and 2 more) — Allow them",
      ])
  }

  @Test("A certificate that is valid for 15 more days is accepted", arguments: [13, 15])
  func certificate(days: Int64) throws {
    let now = Date()
    var answer = try answer(200)
    answer.certificateExpiry = Int64(now.timeIntervalSince1970) + days * 86_400
    #expect((HostingRules.certificate(answer, now: now) == nil) == (days > 14))
  }

  @Test func `metadata with a length that clients refuse is a finding, and not fetched`() throws {
    var check = try HostingCheck(StoreReader(StoreLocation("http://127.0.0.1:9")))
    let bytes = try check.contents(of: "metadata/1.targets.json", length: 1 << 40, limit: 1 << 20)
    #expect(bytes == nil)
    #expect(check.report.findings.map(\.hostingRule) == [.metadataInvalid])
    #expect(check.report.requests == 0)
  }
}

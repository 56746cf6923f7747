import ContentStore
import Foundation
import HostedContent
import HostedHostCheck
import HostedTestSupport
import HostedTestTraits
import Testing

/// Checks of a store on nginx, with mistakes in its configuration.
@Suite(
  "The check of a store on nginx",
  .enabled(if: Nginx.isInstalled, Comment(rawValue: Nginx.reason)), .timeLimit(.hang))
struct HostingNginxTests {
  /// The location of metadata that never changes, also below another path.
  private static let immutable =
    "location ~ /metadata/[^/]+\\.(snapshot|targets|bin-[0-9a-f]+|records)\\.jsonl?$ "
    + "{ add_header Cache-Control \"public, max-age=31536000, immutable\"; }"
  private static let metadata =
    "\(immutable) location /metadata/ { add_header Cache-Control \"no-cache\"; }"

  /// A mistake, and the finding.
  struct Case: Sendable, CustomTestStringConvertible {
    let directives: String
    let finding: ExpectedFinding
    let count: Int

    init(
      _ directives: String, _ severity: Finding.Severity, _ kind: HostingRule,
      _ remedy: String, count: Int = 1
    ) {
      self.directives = directives
      finding = ExpectedFinding(severity, kind, remedy)
      self.count = count
    }

    var testDescription: String { directives }
  }

  private let fixture: HostingFixture

  init() throws { fixture = try HostingFixture() }

  private func check(_ server: Nginx, path: String = "/") throws -> HostingReport {
    try withExtendedLifetime(server) { try fixture.check(server.url(path)) }
  }

  /// The locations of the guide to hosting, without the certificate and the folder.
  private static func guide() throws -> String {
    let page = try DocumentPage("Sources/Publishing/ContentStore/ContentStore.docc/Hosting.md")
    let lines = try #require(page.blocks(in: "nginx").first).text.split(separator: "\n")
    return lines.drop { !$0.contains("location") }.dropLast().joined(separator: "\n")
  }

  @Test(
    "A store with the directives of the guide has no findings, with one list and with bins", .slow)
  func healthy() throws {
    let server = try Nginx(serving: fixture.store.storePath, directives: Self.guide())
    var report = try check(server)
    #expect(report.findings.isEmpty, "\(report.findings.map(\.line))")
    #expect(report.catalogLists == 1)
    try fixture.addProducts(130)
    report = try check(server)
    #expect(report.findings.isEmpty, "\(report.findings.map(\.line))")
    #expect(report.catalogLists == 4)
  }

  static let cases = [
    Case("max_ranges 0; \(metadata)", .warning, .rangesIgnored, "remove max_ranges 0;"),
    Case(
      "gzip on; gzip_types *; gzip_min_length 1; \(metadata)", .warning, .compression,
      "gzip off;"),
    Case(
      "types { } default_type text/html; \(metadata)", .warning, .pageType,
      "default_type application/octet-stream;"),
    Case("", .warning, .cacheable, "add_header Cache-Control"),
    Case(
      "location /metadata/ { add_header Cache-Control \"public, max-age=86400\"; }", .error,
      .cacheable, "add_header Cache-Control"),
    Case("location /metadata/ { expires 1d; }", .error, .cacheable, "add_header Cache-Control"),
    Case(
      "location /metadata/ { add_header Cache-Control \"max-age=86400\" always; }", .error,
      .cacheable, "add_header Cache-Control", count: 2),
    Case("autoindex on; \(metadata)", .warning, .listing, "autoindex off;", count: 2),
    Case(
      "\(immutable) location / { try_files $uri /page.html; } location /metadata/ { "
        + "add_header Cache-Control \"no-cache\"; try_files $uri /page.html; }", .error,
      .pageForMissingFile, "try_files $uri =404;"),
    Case(
      "\(metadata) error_page 404 =200 /page.html;", .error, .pageForMissingFile,
      "no error_page with =200"),
    Case("deny all;", .error, .accessDenied, "allow all;"),
    Case(
      "location /metadata/ { add_header Cache-Control \"no-cache\"; }", .note, .uncached,
      "immutable"),
    Case(
      "\(immutable) location /metadata/ { add_header Cache-Control \"no-cache\"; "
        + "try_files $request_uri =404; }", .warning, .percentEncoding, "use $uri"),
    Case(
      "\(metadata) location = /metadata/TIMESTAMP.JSON { "
        + "try_files /metadata/timestamp.json =404; }", .note, .caseIgnored, "distinguishes case"),
  ]

  @Test(
    "Each mistake in the configuration is found alone, with its remedy", .slow, arguments: cases)
  func mistake(_ mistake: Case) throws {
    let page = Data("<!DOCTYPE html>\n<title>A page</title>\n".utf8)
    try page.write(to: URL(filePath: "\(fixture.store.storePath)/page.html"))
    let report = try check(
      Nginx(serving: fixture.store.storePath, directives: mistake.directives))
    mistake.finding.expectOnly(in: report, count: mistake.count)
  }

  @Test("Keys beside a store whose parent folder is served are found")
  func keys() throws {
    let directives =
      "\(Self.immutable) location /store/metadata/ { add_header Cache-Control \"no-cache\"; }"
    let server = try Nginx(serving: fixture.store.folder.path, directives: directives)
    let report = try check(server, path: "/store/")
    ExpectedFinding(.error, .keysReachable, "location ~ \\.keys(/|$)").expectOnly(in: report)
    #expect(report.findings.first?.path?.hasSuffix("/store.keys/timestamp.pem") == true)
  }

  @Test("Hidden files in a store's folder are found")
  func hiddenFiles() throws {
    let folder = "\(fixture.store.storePath)/.git"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Data("ref: refs/heads/main\n".utf8).write(to: URL(filePath: "\(folder)/HEAD"))
    let report = try check(
      Nginx(serving: fixture.store.storePath, directives: Self.metadata))
    ExpectedFinding(.warning, .hiddenFileReachable, "location ~ /\\.").expectOnly(in: report)
  }

  @Test("A redirect from https to http is found")
  func downgrade() throws {
    let files = try TestCertificate.right.write(to: fixture.store.folder)
    let server = try Nginx(
      serving: fixture.store.storePath, listen: "ssl",
      directives: """
        ssl_certificate \(files.chain); ssl_certificate_key \(files.key);
        return 302 http://127.0.0.1:1$request_uri;
        """)
    let report = try fixture.check(
      "https://127.0.0.1:\(server.port)/", root: fixture.root(), authorities: files.chain)
    ExpectedFinding(.error, .redirectToHTTP, "return 301 https://").expectOnly(in: report)
  }

  @Test("A cache in front of a store that keeps an old timestamp is found after a publication")
  func cache() throws {
    let origin = try Nginx(serving: fixture.store.storePath, directives: Self.metadata)
    let folder = fixture.store.folder.path("cache")
    let server = try Nginx(
      serving: fixture.store.storePath,
      zones: "proxy_cache_path \(folder) keys_zone=store:1m;",
      directives: """
        location / { proxy_pass http://127.0.0.1:\(origin.port); }
        location = /metadata/timestamp.json {
          proxy_pass http://127.0.0.1:\(origin.port);
          proxy_cache store;
          proxy_cache_valid 200 1h;
          proxy_ignore_headers Cache-Control Expires;
        }
        """)
    #expect(try check(server).findings.isEmpty)
    try fixture.store.store.refresh(everything: true)
    ExpectedFinding(.error, .staleTimestamp, "proxy_cache off;").expectOnly(in: try check(server))
    #expect(!origin.requests().isEmpty)
  }
}

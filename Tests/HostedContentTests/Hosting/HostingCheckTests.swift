import HostedHTTPValues
import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedHostCheck
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Checks of a store on our test server, which makes one fault at a time.
@Suite("The check of a hosted store", .timeLimit(.hang))
struct HostingCheckTests {
  /// A fault of the server, and the finding.
  struct Case: Sendable, CustomTestStringConvertible {
    let script: String
    let finding: ExpectedFinding

    init(
      _ script: String, _ severity: Finding.Severity, _ kind: HostingRule,
      _ remedy: String
    ) {
      self.script = script
      finding = ExpectedFinding(severity, kind, remedy)
    }

    var testDescription: String { script }
  }

  private let fixture: HostingFixture

  init() throws { fixture = try HostingFixture() }

  @Test(
    "A healthy store has no findings, with and without its root", .slow, arguments: [true, false])
  func healthy(hasRoot: Bool) throws {
    let server = try fixture.store.server()
    let root = try hasRoot ? fixture.root() : nil
    for comparesAll in [false, true] {
      let report = try fixture.check(server.url, root: root, comparesAll: comparesAll)
      #expect(report.findings.isEmpty, "\(report.findings.map(\.line))")
      #expect(report.comparedFiles == 7)
      #expect(report.catalogFiles == 7)
      #expect(report.requests < 100)
    }
  }

  static let cases = [
    Case("*.pkg ignore-range", .warning, .rangesIgnored, "max_ranges"),
    Case("*.pkg range unsatisfiable", .warning, .rangesIgnored, "proxy_force_ranges on;"),
    Case("*.pkg gzip", .error, .compression, "gzip off;"),
    Case("*.index gzip", .error, .compression, "gzip off;"),
    Case("*/timestamp.json gzip", .error, .compression, "gzip off;"),
    Case("*large*.pkg status 404", .error, .fileMissing, "Upload it"),
    Case("*large*.index status 404", .error, .fileMissing, "Upload it"),
    Case("*large*.product.json status 401", .error, .accessDenied, "allow all;"),
    Case("*large*.product.json flip 20", .error, .wrongBytes, "binary mode"),
    Case("*.records.jsonl status 404", .error, .fileMissing, "Upload it"),
    Case("*.records.jsonl flip 20", .error, .wrongBytes, "binary mode"),
    Case("*large*.index status 500", .error, .status, "error_log"),
    Case("*/2.root.json login-page", .error, .pageForMissingFile, "try_files $uri =404;"),
    Case("*-*-*-*-*.pkg login-page", .error, .pageForMissingFile, "try_files $uri =404;"),
    Case("*/2.root.json status 403", .warning, .statusForMissingFile, "error_page 403 =404"),
    Case("*/2.root.json status 500", .error, .statusForMissingFile, "try_files $uri =404;"),
    Case(
      "*/2.root.json redirect /metadata/timestamp.json", .error, .statusForMissingFile,
      "try_files $uri =404;"),
    Case("*large*.index content-length +10", .error, .wrongLength, "purge"),
    Case("*large*.pkg content-range total 99999999", .error, .wrongLength, "purge"),
    Case("*large*.pkg body changed", .error, .wrongBytes, "sub_filter"),
    Case("*small*.pkg flip 100", .error, .wrongBytes, "binary mode"),
    Case("*large*.index flip 20", .error, .wrongBytes, "binary mode"),
    Case("*large*.index login-page", .error, .wrongBytes, "try_files $uri =404;"),
    Case("*/timestamp.json flip 30", .error, .metadataInvalid, "then timestamp.json"),
    Case("*.pkg validators none", .warning, .validatorsMissing, "etag on;"),
    Case("*.pkg HEAD status 405", .note, .headUnsupported, "limit_except"),
    Case("* login-page", .error, .wrongBytes, "try_files $uri =404;"),
    Case("* status 500", .error, .status, "error_log"),
    Case("* status 401", .error, .accessDenied, "token"),
  ]

  @Test("Each fault of a server is found alone, with its remedy", .slow, arguments: cases)
  func fault(_ fault: Case) throws {
    let server = try fixture.store.server(fault.script)
    fault.finding.expectOnly(in: try fixture.check(server.url))
  }

  @Test("A wrong byte outside of the compared parts is found if everything is compared")
  func everything() throws {
    let server = try fixture.store.server("*large*.pkg flip 5")
    let report = try fixture.check(server.url, root: fixture.root(), comparesAll: true)
    ExpectedFinding(.error, .wrongBytes, "binary mode").expectOnly(in: report)
  }

  // MARK: Metadata

  @Test(
    "Metadata that was not renewed is found before and after it expires", .slow,
    arguments: [
      (70.0, ExpectedFinding(.warning, .expiresSoon, "daily")),
      (100.0, ExpectedFinding(.error, .expired, "daily")),
    ])
  func expiry(days: Double, finding: ExpectedFinding) throws {
    let server = try fixture.store.server()
    let now = Date(timeIntervalSinceNow: days * 86_400)
    finding.expectOnly(in: try fixture.check(server.url, now: now))
  }

  @Test("A root that is missing in the chain is found", .slow, arguments: [1, 2])
  func missingRoot(version: Int) throws {
    let root = try fixture.root()
    for _ in 0..<2 { try fixture.store.store.rotate([.timestamp]) }
    try fixture.remove("metadata/\(version).root.json")
    let server = try fixture.store.server()
    let report = try fixture.check(server.url, root: root)
    ExpectedFinding(.error, .rootMissing, "every N.root.json").expectOnly(in: report)
    #expect(report.findings.first?.path == "metadata/\(version).root.json")
    #expect(report.comparedFiles == 7)
  }

  @Test("A store with another root than the given one is found")
  func otherRoot() throws {
    let other = try StoreFixture()
    let root = try other.store.initialRoot()
    let server = try fixture.store.server()
    let kinds = try fixture.check(server.url, root: root).findings.map(\.hostingRule)
    #expect(kinds == [.wrongBytes, .metadataInvalid])
  }

  // MARK: Caches

  /// Answers for the timestamp with headers.
  private func server(sending headers: [String: String?]) throws -> FileServer {
    let bytes = try fixture.bytes("metadata/timestamp.json")
    return try fixture.store.server {
      $0.routes["/metadata/timestamp.json"] = { _ in
        var answer = HTTPResponse(200, contentType: "application/json", bytes)
        answer.headers["Cache-Control"] = "no-cache"
        for (name, value) in headers { answer.headers[name] = value }
        return answer
      }
    }
  }

  static let keepingHeaders: [(String?, Finding.Severity)] = [
    ("public, max-age=86400", .error), ("max-age=3600", .error), ("public, immutable", .error),
    ("max-age=0, s-maxage=\"600\"", .error), ("public", .warning), (nil, .warning),
  ]

  @Test(
    "Headers with which a cache keeps the timestamp are found", .slow, arguments: keepingHeaders)
  func cacheControl(value: String?, severity: Finding.Severity) throws {
    let server = try server(sending: ["Cache-Control": value])
    ExpectedFinding(severity, .cacheable, "add_header Cache-Control \"no-cache\"")
      .expectOnly(in: try fixture.check(server.url))
  }

  @Test(
    "Headers with which a cache asks again soon are accepted", .slow,
    arguments: ["no-store", "max-age=0", "public, max-age=30", "public, max-age=60, no-cache"])
  func shortCache(value: String) throws {
    let server = try server(sending: ["Cache-Control": value])
    #expect(try fixture.check(server.url).findings.isEmpty)
  }

  @Test("A 404 for the next root that caches may keep is found")
  func nextRoot() throws {
    let server = try fixture.store.server {
      $0.routes["/metadata/2.root.json"] = { _ in
        var answer = HTTPResponse(404, text: "Not found.")
        answer.headers["Cache-Control"] = "max-age=3600"
        return answer
      }
    }
    let report = try fixture.check(server.url)
    ExpectedFinding(.error, .cacheable, "location /metadata/").expectOnly(in: report)
    #expect(report.findings.first?.path == "metadata/2.root.json")
  }

  @Test(
    "A cache that answers in spite of no-cache is found by the age of its answer", .slow,
    arguments: [
      ("3600", Finding.Severity.error), ("5", Finding.Severity.warning),
    ])
  func age(seconds: String, severity: Finding.Severity) throws {
    let server = try server(sending: ["Age": seconds])
    ExpectedFinding(severity, .staleTimestamp, "proxy_cache off;")
      .expectOnly(in: try fixture.check(server.url))
  }

  @Test(
    "An old timestamp in a cache is found by comparison with a request that no cache knows", .slow,
    arguments: [true, false])
  func stale(obeysNoCache: Bool) throws {
    let old = try fixture.bytes("metadata/timestamp.json")
    try fixture.store.store.refresh(everything: true)
    let new = try fixture.bytes("metadata/timestamp.json")
    let server = try fixture.store.server {
      $0.routes["/metadata/timestamp.json"] = { request in
        let isNew =
          obeysNoCache
          ? request.headers["cache-control"] != nil : request.target.contains("?")
        var answer = HTTPResponse(200, contentType: "application/json", isNew ? new : old)
        answer.headers["Cache-Control"] = "no-cache"
        return answer
      }
    }
    ExpectedFinding(obeysNoCache ? .warning : .error, .staleTimestamp, "proxy_cache off;")
      .expectOnly(in: try fixture.check(server.url))
  }

  // MARK: Names

  @Test("A server that does not decode percent-encoded names is found")
  func percentEncoding() throws {
    let bytes = try fixture.bytes("metadata/timestamp.json")
    let server = try fixture.store.server {
      $0.routes["/metadata/timestamp.json"] = { request in
        guard !request.target.contains("%") else { return HTTPResponse(404, text: "Not found.") }
        var answer = HTTPResponse(200, contentType: "application/json", bytes)
        answer.headers["Cache-Control"] = "no-cache"
        return answer
      }
    }
    ExpectedFinding(.warning, .percentEncoding, "use $uri")
      .expectOnly(in: try fixture.check(server.url))
  }

  @Test("A server that ignores the case of names is found")
  func caseIgnored() throws {
    let bytes = try fixture.bytes("metadata/timestamp.json")
    let server = try fixture.store.server {
      $0.routes["/metadata/TIMESTAMP.JSON"] = { _ in
        HTTPResponse(200, contentType: "application/json", bytes)
      }
    }
    ExpectedFinding(.note, .caseIgnored, "distinguishes case")
      .expectOnly(in: try fixture.check(server.url))
  }

  // MARK: Connections

  @Test(
    "A certificate that clients refuse is found", arguments: [TestCertificate.expired, .wrong])
  func certificate(certificate: TestCertificate) throws {
    let files = try certificate.write(to: fixture.store.folder)
    let server = try fixture.store.server {
      $0.certificate = Certificate(chain: files.chain, key: files.key)
    }
    let report = try fixture.check(server.url, root: fixture.root(), authorities: files.chain)
    ExpectedFinding(.error, .secureConnection, "ssl_certificate").expectOnly(in: report)
  }

  @Test("A certificate that expires in a few days is found")
  func certificateExpiresSoon() throws {
    let (chain, key) = (
      fixture.store.folder.path("soon.pem"), fixture.store.folder.path("soon.key")
    )
    let words = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-keyout", key, "-out", chain, "-days", "5", "-subj", "/CN=localhost",
      "-addext", "subjectAltName=IP:127.0.0.1",
    ]
    let end = try Program.run("/usr/bin/openssl", words)
    try #require(end.status == 0, "\(end.output)")
    let server = try fixture.store.server { $0.certificate = Certificate(chain: chain, key: key) }
    let report = try fixture.check(server.url, root: fixture.root(), authorities: chain)
    ExpectedFinding(.warning, .certificateExpiresSoon, "Renew it").expectOnly(in: report)
  }

  @Test("A server that does not listen is an error, not a finding")
  func refused() throws {
    let port = try ReservedPort()
    let error = #expect(throws: ContentError.self) {
      try fixture.check("http://127.0.0.1:\(port.number)/")
    }
    #expect(error?.code == .connectionRefused)
  }

  @Test("A folder cannot be checked")
  func folder() throws {
    let error = #expect(throws: ContentError.self) { try fixture.check(fixture.store.storePath) }
    #expect(error?.code == .usage)
  }
}

import HostedHTTPValues
import ContentStore
import Foundation
import HostedContent
import HostedHostCheck
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Checks of a store whose catalog is in four bins.
@Suite("The check of a hosted store with bins", .slow, .timeLimit(.hang))
struct HostingBinTests {
  private static let products = 130
  private let fixture: HostingFixture

  init() throws {
    fixture = try HostingFixture()
    try fixture.addProducts(Self.products)
  }

  private func check(
    _ script: String = "", comparesAll: Bool = false,
    _ change: (inout FileServer.Configuration) -> Void = { _ in }
  ) throws -> HostingReport {
    let server = try fixture.store.server(script, change)
    return try withExtendedLifetime(server) {
      try fixture.check(server.url, root: fixture.root(), comparesAll: comparesAll)
    }
  }

  @Test("A healthy store has no findings, and some or all files are compared")
  func healthy() throws {
    // Records, records files, archives and indexes.
    let files = Self.products + 2 + 4 + 2 * 2
    for comparesAll in [false, true] {
      let report = try check(comparesAll: comparesAll)
      #expect(report.findings.isEmpty, "\(report.findings.map(\.line))")
      #expect(report.catalogLists == 4)
      #expect(report.comparedLists == 4)
      #expect(report.catalogFiles == files)
      // Four records of each bin.
      #expect(report.comparedFiles == (comparesAll ? files : 4 * 4 + 4 + 2 * 2))
    }
  }

  // MARK: Bins

  static let binFaults = [
    ("status 404", ExpectedFinding(.error, .fileMissing, "Upload it")),
    ("status 403", ExpectedFinding(.error, .accessDenied, "allow all;")),
    ("login-page", ExpectedFinding(.error, .wrongBytes, "try_files $uri =404;")),
    ("flip 30", ExpectedFinding(.error, .metadataInvalid, "then timestamp.json")),
    ("gzip", ExpectedFinding(.error, .compression, "gzip off;")),
  ]

  @Test(
    "A bin that is missing or damaged on the server is found, and named",
    arguments: binFaults)
  func bin(fault: String, finding: ExpectedFinding) throws {
    let report = try check("*.bin-1.json \(fault)")
    finding.expectOnly(in: report)
    #expect(try report.findings.first?.path == fixture.path(ofBin: "bin-1"))
    #expect(report.comparedLists == 3)
  }

  @Test("A missing bin in the folder is found")
  func missingBin() throws {
    let path = try fixture.path(ofBin: "bin-2")
    try fixture.remove(path)
    let report = try check()
    ExpectedFinding(.error, .fileMissing, "Upload it").expectOnly(in: report)
    #expect(report.findings.first?.path == path)
  }

  @Test("An old bin under the name of the new one is found")
  func oldBin() throws {
    let old = try fixture.bytes(fixture.path(ofBin: "bin-1"))
    try fixture.store.store.refresh(everything: true)
    let path = try fixture.path(ofBin: "bin-1")
    try fixture.write(old, to: path)
    let report = try check()
    ExpectedFinding(.error, .metadataInvalid, "then timestamp.json").expectOnly(in: report)
    #expect(report.findings.first?.path == path)
    #expect(report.findings.first?.message.contains("specifies") == true)
  }

  @Test("A bin under the name of another one is found")
  func otherBin() throws {
    let path = try fixture.path(ofBin: "bin-1")
    try fixture.write(fixture.bytes(fixture.path(ofBin: "bin-3")), to: path)
    let report = try check()
    ExpectedFinding(.error, .metadataInvalid, "then timestamp.json").expectOnly(in: report)
    #expect(report.findings.first?.path == path)
    #expect(report.findings.first?.message.contains("another bin") == true)
  }

  @Test("A bin that was not renewed is found before it expires")
  func dueBin() throws {
    let server = try fixture.store.server()
    let report = try withExtendedLifetime(server) {
      try fixture.check(server.url, now: Date(timeIntervalSinceNow: 300 * 86_400))
    }
    let kinds = Dictionary(grouping: report.findings) { $0.hostingRule }.mapValues(\.count)
    // Snapshot, targets and four bins expire in two months. The timestamp has expired.
    #expect(kinds == [.expired: 1, .expiresSoon: 6], "\(report.findings.map(\.line))")
  }

  // MARK: Records files

  static let recordsFaults = [
    ("status 404", ExpectedFinding(.error, .fileMissing, "Upload it")),
    ("flip 20", ExpectedFinding(.error, .wrongBytes, "binary mode")),
    ("body changed", ExpectedFinding(.error, .wrongBytes, "binary mode")),
    ("content-length +10", ExpectedFinding(.error, .wrongLength, "purge")),
    ("gzip", ExpectedFinding(.error, .compression, "gzip off;")),
  ]

  @Test(
    "A records file that is missing or damaged on the server is found, and named",
    arguments: recordsFaults)
  func records(fault: String, finding: ExpectedFinding) throws {
    let path = try fixture.path(ofRecordsInBin: "bin-1")
    let report = try check("*/\(path) \(fault)")
    finding.expectOnly(in: report)
    #expect(report.findings.first?.path == path)
    #expect(report.comparedLists == 4)
  }

  @Test("A missing records file in the folder is found")
  func missingRecords() throws {
    let path = try fixture.path(ofRecordsInBin: "bin-0")
    try fixture.remove(path)
    let report = try check()
    ExpectedFinding(.error, .fileMissing, "Upload it").expectOnly(in: report)
    #expect(report.findings.first?.path == path)
  }

  @Test("Archives are compared even if the records file or the record is missing")
  func archives() throws {
    for missing in ["*.records.jsonl", "*large/*.product.json"] {
      let report = try check("\(missing) status 404\n*large*.index flip 20", comparesAll: true)
      let kinds = Set(report.findings.map(\.hostingRule))
      #expect(kinds == [.fileMissing, .wrongBytes], "\(report.findings.map(\.line))")
    }
  }

  // MARK: Caches

  @Test("A bin or a records file that caches may not keep is noted")
  func uncached() throws {
    for path in [try fixture.path(ofBin: "bin-1"), try fixture.path(ofRecordsInBin: "bin-1")] {
      let bytes = try fixture.bytes(path)
      let report = try check {
        $0.routes["/\(path)"] = { _ in
          var answer = HTTPResponse(200, contentType: "application/json", bytes)
          answer.headers["Cache-Control"] = "no-cache"
          return answer
        }
      }
      ExpectedFinding(.note, .uncached, "immutable").expectOnly(in: report)
      #expect(report.findings.first?.path == path)
    }
  }
}

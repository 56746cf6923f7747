import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedHostCheck
import HostedTestSupport
import Testing

/// A store with a small and a large package, and checks of its servers.
///
/// Its catalog is one list, until products are added.
struct HostingFixture {
  let store: StoreFixture

  private static let noise: [String: [UInt8]] = {
    var random = SplitMix(state: 21)
    return ["Contents/noise.bin": random.bytes(3 << 20)]
  }()

  init() throws {
    store = try StoreFixture()
    try store.publish("com.example.small", "1.0")
    try store.publish("com.example.large", "1.0", files: Self.noise)
  }

  /// Adds products without content in one step.
  ///
  /// With 130 products, the catalog is in the four bins `bin-0` to `bin-3`.
  func addProducts(_ count: Int) throws {
    let products = try (0..<count).map {
      try ProductIdentifier(validating: "com.example.product-\($0)")
    }
    try store.store.add(
      Dictionary(uniqueKeysWithValues: products.map { ($0, ProductDetails(title: "A product")) }))
  }

  /// The path of the newest metadata of the bin `name`.
  func path(ofBin name: String) throws -> String {
    let versions = try FileManager.default.contentsOfDirectory(
      atPath: "\(store.storePath)/metadata"
    ).filter { $0.hasSuffix(".\(name).json") }.compactMap { Int($0.prefix { $0 != "." }) }
    let version = try #require(versions.max())
    return "metadata/\(version).\(name).json"
  }

  /// The path of the records file that the newest metadata of the bin `name` names.
  func path(ofRecordsInBin name: String) throws -> String {
    let bytes = try bytes(path(ofBin: name))
    let document = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    let signed = document?["signed"] as? [String: Any]
    let records = (signed?["catalog"] as? [String: Any])?["records"] as? [String: Any]
    let digest = try #require(records?["sha256"] as? String)
    return "metadata/\(digest).records.jsonl"
  }

  /// The first root, as the owner hands it out.
  func root() throws -> [UInt8] { try bytes("metadata/1.root.json") }

  func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: "\(store.storePath)/\(name)")))
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(filePath: "\(store.storePath)/\(name)"))
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: "\(store.storePath)/\(name)")
  }

  /// Checks the store at `url`; `authorities` is the path of its certificate.
  func check(
    _ url: String, root: [UInt8]?, comparesAll: Bool = false, authorities: String? = nil,
    now: Date = Date()
  ) throws -> HostingReport {
    var network = NetworkSettings()
    network.proxy = .direct
    network.certificateAuthorities = authorities.map { URL(filePath: $0) }
    var check = try HostingCheck(
      StoreReader(StoreLocation(url), trustedRoot: root, network: network),
      comparesAll: comparesAll, now: now)
    return try check.run()
  }

  /// Checks the store at `url` with its own root.
  func check(_ url: String, now: Date = Date()) throws -> HostingReport {
    try check(url, root: root(), now: now)
  }
}

/// What a check must find.
struct ExpectedFinding: Sendable {
  let severity: Finding.Severity
  let kind: HostingRule
  /// A part of the remedy.
  let remedy: String

  init(_ severity: Finding.Severity, _ kind: HostingRule, _ remedy: String) {
    self.severity = severity
    self.kind = kind
    self.remedy = remedy
  }

  /// Expects that `report` has this finding and no other.
  func expectOnly(
    in report: HostingReport, count: Int = 1, _ location: SourceLocation = #_sourceLocation
  ) {
    let lines: Comment = "\(report.findings.map(\.line))"
    #expect(report.findings.count == count, lines, sourceLocation: location)
    for finding in report.findings {
      #expect(finding.hostingRule == kind, lines, sourceLocation: location)
      #expect(finding.severity == severity, lines, sourceLocation: location)
      #expect(finding.remedy.contains(remedy), lines, sourceLocation: location)
    }
  }
}

package import HostedModel

/// A rule that a hosted store must follow; findings have its name.
package enum HostingRule: String, CaseIterable, Sendable {
  // Connections.
  case secureConnection = "secure-connection"
  case certificateExpiresSoon = "certificate-expires-soon"
  case redirectToHTTP = "redirect-to-http"
  case redirect
  case transferFailed = "transfer-failed"
  // Files.
  case fileMissing = "file-missing"
  case accessDenied = "access-denied"
  case status
  case compression
  case pageType = "page-type"
  case rangesIgnored = "ranges-ignored"
  case wrongLength = "wrong-length"
  case wrongBytes = "wrong-bytes"
  case validatorsMissing = "validators-missing"
  case headUnsupported = "head-unsupported"
  case notCompared = "not-compared"
  // Metadata.
  case rootMissing = "root-missing"
  case metadataInvalid = "metadata-invalid"
  case expired
  case expiresSoon = "expires-soon"
  case staleTimestamp = "stale-timestamp"
  case cacheable
  case uncached
  // Names.
  case pageForMissingFile = "page-for-missing-file"
  case statusForMissingFile = "status-for-missing-file"
  case keysReachable = "keys-reachable"
  case hiddenFileReachable = "hidden-file-reachable"
  case listing
  case percentEncoding = "percent-encoding"
  case caseIgnored = "case-ignored"

  /// The maximum number of findings with this rule, since a setting concerns all files.
  fileprivate var limit: Int {
    switch self {
    case .fileMissing, .wrongLength, .wrongBytes, .rootMissing, .expired, .expiresSoon,
      .cacheable, .listing, .keysReachable, .hiddenFileReachable:
      20
    default: 1
    }
  }
}

extension Finding {
  /// Creates a finding about the file at `path` below the store's URL, or about the URL `path`.
  init(_ severity: Severity, _ rule: HostingRule, _ path: String, _ message: String, remedy: String)
  {
    self.init(
      path: path, rule: rule.rawValue, message: message, remedy: remedy, code: .storeDamaged)
    self.severity = severity
  }

  /// The rule of a finding about a hosted store.
  package var hostingRule: HostingRule? { rule.flatMap(HostingRule.init) }

  /// The finding about a hosted store in one line.
  package var line: String {
    let more = others.map { " (and \($0) more)" } ?? ""
    return "\(severity.map { "\($0): " } ?? "")\(message)\(more) — \(remedy)"
  }
}

/// The result of a check.
package struct HostingReport: Sendable {
  package let url: String
  /// The findings, errors first.
  package fileprivate(set) var findings: [Finding] = []
  /// The number of compared files, without lists.
  package var comparedFiles = 0
  /// The number of files that the read lists and records name.
  package var catalogFiles = 0
  /// The number of lists of the catalog that were read.
  package var comparedLists = 0
  /// The number of lists of the catalog, or 0 if it could not be read.
  package var catalogLists = 0
  package var requests = 0

  /// Adds `finding` if there is one, or counts it if there are enough with its rule and severity.
  ///
  /// Returns whether there is one.
  @discardableResult
  mutating func add(_ finding: Finding?) -> Bool {
    guard let finding else { return false }
    let same = findings.indices.filter {
      findings[$0].rule == finding.rule && findings[$0].severity == finding.severity
    }
    if same.contains(where: { findings[$0].path == finding.path }) { return true }
    if let last = same.last, same.count >= finding.hostingRule?.limit ?? 1 {
      findings[last].others = (findings[last].others ?? 0) + 1
    } else {
      findings.append(finding)
    }
    return true
  }

  /// Sorts the findings: errors first, otherwise in the order in which they were found.
  mutating func sort() {
    findings = Finding.Severity.allCases.flatMap { severity in
      findings.filter { $0.severity == severity }
    }
  }
}

/// A difference between how a store is served and what clients need.
package struct HostingFinding: Hashable, Encodable, Sendable {
  /// What a finding means for clients.
  package enum Severity: String, Encodable, CaseIterable, Sendable {
    /// Clients fail, or secrets are published.
    case error
    /// Clients succeed, but slowly, or a cache can make them fail.
    case warning
    /// Nothing fails.
    case note
  }

  /// The kind of a finding.
  package enum Kind: String, Encodable, CaseIterable, Sendable {
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

    /// The maximum number of findings of this kind, since a setting concerns all files.
    fileprivate var limit: Int {
      switch self {
      case .fileMissing, .wrongLength, .wrongBytes, .rootMissing, .expired, .expiresSoon,
        .cacheable, .listing, .keysReachable, .hiddenFileReachable:
        20
      default: 1
      }
    }
  }

  /// What the finding means for clients.
  package let severity: Severity
  package let kind: Kind
  /// The path below the store's URL, or the URL.
  package let path: String
  /// What is wrong, as one sentence without a final period.
  package let message: String
  /// What to do, as one sentence without a final period.
  package private(set) var remedy: String
  /// The number of other paths with the same finding.
  package fileprivate(set) var others = 0

  init(
    _ severity: Severity, _ kind: Kind, _ path: String, _ message: String, remedy: String
  ) {
    self.severity = severity
    self.kind = kind
    self.path = path
    self.message = message
    self.remedy = remedy
  }

  /// Returns the finding with `hint` in its remedy, such as a command.
  package func adding(_ hint: String) -> HostingFinding {
    var finding = self
    finding.remedy += " (\(hint))"
    return finding
  }

  /// The finding in one line.
  package var line: String {
    let more = others == 0 ? "" : " (and \(others) more)"
    return "\(severity.rawValue): \(message)\(more) — \(remedy)"
  }
}

/// The result of a check.
package struct HostingReport: Encodable, Sendable {
  /// The URL of the store.
  package let url: String
  /// The findings, errors first.
  package fileprivate(set) var findings: [HostingFinding] = []
  /// The number of compared files, without lists.
  package var comparedFiles = 0
  /// The number of files that the read lists and records name.
  package var catalogFiles = 0
  /// The number of lists of the catalog that were read.
  package var comparedLists = 0
  /// The number of lists of the catalog, or 0 if it could not be read.
  package var catalogLists = 0
  /// The number of requests.
  package var requests = 0

  init(url: String) { self.url = url }

  /// Adds `finding` if there is one, or counts it if there are enough of its kind and severity.
  ///
  /// Returns whether there is one.
  @discardableResult
  mutating func add(_ finding: HostingFinding?) -> Bool {
    guard let finding else { return false }
    let same = findings.indices.filter {
      findings[$0].kind == finding.kind && findings[$0].severity == finding.severity
    }
    if same.contains(where: { findings[$0].path == finding.path }) { return true }
    if let last = same.last, same.count >= finding.kind.limit {
      findings[last].others += 1
    } else {
      findings.append(finding)
    }
    return true
  }

  /// Sorts the findings: errors first, otherwise in the order in which they were found.
  mutating func sort() {
    findings = HostingFinding.Severity.allCases.flatMap { severity in
      findings.filter { $0.severity == severity }
    }
  }

  /// Returns the number of findings of `severity`.
  package func count(of severity: HostingFinding.Severity) -> Int {
    findings.count { $0.severity == severity }
  }
}

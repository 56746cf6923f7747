import HostedContent
import HostedHostCheck

enum StoreCheckCommand {
  static let command = Command(
    name: "store check",
    summary: "Checks how a web server serves a store, as a client sees it.",
    options: [
      .init("--at", "URL", "the URL at which clients find the store", isRequired: true),
      .init("--root", "FILE", "the store's trusted root; default: the store's first root"),
      .init("--all", nil, "fetch and compare every list and file, not only some"),
      .json,
    ] + networkOptions,
    example: "hostedcontent store check --at https://content.example.com/ --root root.json"
  ) { arguments, console in
    let location = try StoreLocation(arguments.required("--at"))
    let root = try arguments.trustedRoot()
    var check = try HostingCheck(
      StoreReader(location, trustedRoot: root, network: arguments.network()),
      comparesAll: arguments.has("--all"))
    let report = try check.run()
    if root == nil { console.note("Without --root, the check trusts the store's first root.") }
    let counts = Finding.Severity.allCases.map { severity in
      report.findings.count { $0.severity == severity }
    }
    let findings = report.findings.map(withHint)
    try console.print(
      Report(
        url: report.url, findings: findings.map(Entry.init), errors: counts[0], warnings: counts[1],
        notes: counts[2], comparedFiles: report.comparedFiles, catalogFiles: report.catalogFiles,
        comparedLists: report.comparedLists, catalogLists: report.catalogLists,
        requests: report.requests)
    ) {
      for finding in findings { console.print(finding.line) }
      let words = zip(counts, Finding.Severity.allCases).map {
        Console.count($0, $1.rawValue)
      }
      let lists =
        report.catalogLists > 1 ? " in \(report.comparedLists) of \(report.catalogLists) bins" : ""
      console.print(
        "\(report.url): \(words.joined(separator: ", ")); \(report.comparedFiles) of "
          + "\(report.catalogFiles) files\(lists) compared, \(report.requests) requests")
    }
    return counts[0] == 0 ? .done : .failed
  }

  /// The options of one server, and of one attempt for each request.
  private static let networkOptions = NetworkArguments.options(without: [
    "--root", "--mirror", "--trust-on-first-use", "--attempts", "--busy-timeout",
  ])

  private struct Report: Encodable {
    let url: String
    let findings: [Entry]
    let errors: Int
    let warnings: Int
    let notes: Int
    let comparedFiles: Int
    let catalogFiles: Int
    let comparedLists: Int
    let catalogLists: Int
    let requests: Int
  }

  private struct Entry: Encodable {
    let severity: Finding.Severity?
    let kind: String?
    let path: String?
    let message: String
    let remedy: String
    let others: Int

    init(_ finding: Finding) {
      severity = finding.severity
      kind = finding.rule
      path = finding.path
      message = finding.message
      remedy = finding.remedy
      others = finding.others ?? 0
    }
  }

  /// Returns the finding with the command or option that helps.
  private static func withHint(_ finding: Finding) -> Finding {
    var finding = finding
    switch finding.hostingRule {
    case .expired, .expiresSoon: finding.remedy += " (hostedcontent store refresh STORE)"
    case .accessDenied: finding.remedy += " (--token-file FILE)"
    case .keysReachable: finding.remedy += " (hostedcontent store rotate STORE ROLE…)"
    default: break
    }
    return finding
  }
}

import HostedModel
import ContentStore

extension Console {
  /// Prints one line for each of `findings`, for which packages were not published.
  func reportFindings(_ findings: [PackageFinding]) {
    for finding in findings {
      let (message, error) = (finding.message.naming(entry: finding.entry), finding.error)
      report(
        ContentError(
          error.code, "\(finding.path): \(message)", remedy: error.remedy,
          subject: error.subject, cause: error.cause))
    }
    guard findings.count > 1 else { return }
    let packages = Set(findings.map(\.path)).count
    report(
      ContentError(
        findings[0].error.code,
        "Nothing was published: \(findings.count) findings in "
          + Console.count(packages, "package"),
        remedy: "Correct what they name, then publish all packages again"))
  }
}

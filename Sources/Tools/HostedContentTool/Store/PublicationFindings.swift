import HostedModel
import ContentStore

extension Console {
  /// Prints one line for each of `findings`, for which packages were not published.
  func reportFindings(_ findings: [Finding]) {
    for finding in findings {
      let message = finding.message.naming(entry: finding.path)
      report(
        ContentError(
          finding.code, "\(finding.subject.map { "\($0): " } ?? "")\(message)",
          remedy: finding.remedy, subject: finding.subject, cause: finding.cause))
    }
    guard findings.count > 1 else { return }
    let packages = Set(findings.map(\.subject)).count
    report(
      ContentError(
        findings[0].code,
        "Nothing was published: \(findings.count) findings in "
          + Console.count(packages, "package"),
        remedy: "Correct what they name, then publish all packages again"))
  }
}

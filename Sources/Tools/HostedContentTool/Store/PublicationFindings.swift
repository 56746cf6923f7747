import ContentModel
import ContentStore

extension PackageFinding {
  /// The finding as one line: the package, the finding and the remedy.
  fileprivate var line: ContentError {
    // Most messages already name the entry.
    let place = entry.flatMap { message.contains($0) ? nil : "\($0): " } ?? ""
    return ContentError(
      code, "\(path): \(place)\(message)", remedy: remedy, subject: error.subject, cause: cause)
  }
}

extension Console {
  /// Prints one line for each of `findings`, for which packages were not published.
  func reportFindings(_ findings: [PackageFinding]) {
    for finding in findings { report(finding.line) }
    guard findings.count > 1 else { return }
    let packages = Set(findings.map(\.path)).count
    report(
      ContentError(
        findings[0].code,
        "Nothing was published: \(findings.count) findings in "
          + Console.count(packages, "package"),
        remedy: "Correct what they name, then publish all packages again"))
  }
}

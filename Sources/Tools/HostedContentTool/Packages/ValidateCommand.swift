import HostedModel
import HostedPackage
import HostedFileIO

enum ValidateCommand {
  static let command = Command(
    name: "validate", summary: "Checks a package against every rule and reports all findings.",
    operands: "FILE.pkg", options: [.json],
    example: "hostedcontent validate chapter1.pkg"
  ) { arguments, console in
    let path = arguments.operands[0]
    let findings = try findings(in: path)
    try console.print(Report(isValid: findings.isEmpty, findings: findings)) {
      if findings.isEmpty { console.print("\(path): valid") }
      for finding in findings {
        let message = finding.message.naming(entry: finding.path)
        console.print("\(path): \(message). \(finding.remedy). [\(finding.rule ?? "")]")
      }
    }
    return findings.isEmpty ? .done : .failed
  }

  private struct Report: Encodable {
    let isValid: Bool
    let findings: [Finding]
  }

  /// All findings; a file that is not a package is a finding too.
  private static func findings(in path: String) throws -> [Finding] {
    let source = try FileByteSource(FileSystem.real.file(at: path))
    do {
      return try examinePackage(source).findings
    } catch let finding as Finding {
      return [finding]
    }
  }
}

extension String {
  /// The message of a finding with its entry, which most messages already name.
  func naming(entry: String?) -> String {
    guard let entry, !contains(entry) else { return self }
    return "\(entry): \(self)"
  }
}

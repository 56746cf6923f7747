import ContentModel
import ContentPackage

/// `validate`: every rule, all findings at once.
enum ValidateCommand {
  static let command = Command(
    name: "validate", summary: "Checks a package against every rule and names all findings.",
    operands: "FILE.pkg", operandCount: 1...1, options: [.json],
    example: "hostedcontent validate chapter1.pkg", run: run)

  private struct Report: Encodable {
    let isValid: Bool
    let findings: [Finding]
  }

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let path = arguments.operands[0]
    let examination = try examinePackage(FilePlace(path).byteSource(), name: path)
    if arguments.has("--json") {
      try console.print(
        json: Report(isValid: examination.isValid, findings: examination.findings))
    } else if examination.isValid {
      console.print("\(path): valid")
    } else {
      for finding in examination.findings {
        let place = finding.path.map { "\($0): " } ?? ""
        console.print("\(path): \(place)\(finding.message). \(finding.remedy). [\(finding.rule)]")
      }
    }
    return examination.isValid ? .done : .failed
  }
}

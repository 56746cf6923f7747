import ContentModel
import ContentPackage
import FileIO

enum InspectCommand {
  static let command = Command(
    name: "inspect", summary: "Shows a package's format, product, content, version and files.",
    operands: "FILE.pkg", options: [.json],
    example: "hostedcontent inspect chapter1.pkg --json", run: run)

  private struct Report: Encodable {
    let form: String
    let productIdentifier: String?
    let contentIdentifier: String?
    let contentVersion: String?
    let packedBytes: Int64
    let unpackedBytes: Int64
    let findings: Int
    let entries: [IndexedFile]
  }

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let path = arguments.operands[0]
    let source = try FileByteSource(FileSystem.real.file(at: path))
    let examination = try examinePackage(source, name: path)
    let report = Report(
      form: examination.form.rawValue,
      productIdentifier: examination.info?.productIdentifier.rawValue,
      contentIdentifier: examination.info?.contentIdentifier.rawValue,
      contentVersion: examination.info?.version.rawValue, packedBytes: examination.packedLength,
      unpackedBytes: examination.installedSize,
      findings: examination.findings.count, entries: examination.entries)
    try console.print(report) {
      for line in [
        "form      \(report.form)",
        "product   \(report.productIdentifier ?? "unknown")",
        "content   \(report.contentIdentifier ?? "unknown")",
        "version   \(report.contentVersion ?? "unknown")",
        "packed    \(Console.bytes(report.packedBytes))",
        "unpacked  \(Console.bytes(report.unpackedBytes))",
        "findings  \(report.findings)\(report.findings > 0 ? " (see hostedcontent validate)" : "")",
      ] { console.print(line) }
      console.print(
        table: report.entries.map { ["\($0.size)", $0.kind.rawValue, $0.path] },
        heading: ["bytes", "kind", "path"])
    }
    return .done
  }
}

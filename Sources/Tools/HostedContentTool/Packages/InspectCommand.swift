import HostedModel
import HostedPackage
import HostedFileIO

enum InspectCommand {
  static let command = Command(
    name: "inspect", summary: "Shows a package's format, product, content, version and files.",
    operands: "FILE.pkg", options: [.json],
    example: "hostedcontent inspect chapter1.pkg --json"
  ) { arguments, console in
    let path = arguments.operands[0]
    let source = try FileByteSource(FileSystem.real.file(at: path))
    let examination = try examinePackage(source, name: path)
    let report = Report(
      format: examination.format.rawValue,
      productIdentifier: examination.info?.productIdentifier,
      contentIdentifier: examination.info?.contentIdentifier,
      contentVersion: examination.info?.version, packedBytes: examination.packedLength,
      unpackedBytes: examination.installedSize,
      findings: examination.findings.count, entries: examination.entries)
    try console.print(report) {
      for line in [
        "format    \(report.format)",
        "product   \(report.productIdentifier?.rawValue ?? "unknown")",
        "content   \(report.contentIdentifier?.rawValue ?? "unknown")",
        "version   \(report.contentVersion?.rawValue ?? "unknown")",
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

  private struct Report: Encodable {
    let format: String
    let productIdentifier: ProductIdentifier?
    let contentIdentifier: ProductIdentifier?
    let contentVersion: ContentVersion?
    let packedBytes: Int64
    let unpackedBytes: Int64
    let findings: Int
    let entries: [IndexedFile]
  }
}

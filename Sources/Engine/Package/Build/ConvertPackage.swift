package import HostedModel
package import HostedFileIO

/// Builds the flat product archive `outputName` in `output` from an archive of any supported
/// format.
///
/// Messages use `name` for the archive. The archive is examined before anything is written; if it
/// breaks rules, the error lists all findings. It is then unpacked into a private temporary folder
/// in `output`, and `buildPackage` builds from that folder. The package is therefore byte for byte
/// the package of the archived folder. Throws `diskFull` before anything is written if the files
/// and the package do not fit. After an error, all files of this call are removed. Everything else
/// is as in `buildPackage`.
package func convertPackage(
  _ source: any ByteSource, name: String, output: Directory, outputName: String,
  productIdentifier: ProductIdentifier? = nil, contentIdentifier: ProductIdentifier? = nil,
  version: ContentVersion? = nil, limits: PackageLimits = .standard
) throws -> PackageExamination {
  try checkReplaceable(outputName, in: output)
  let examination = try examinePackage(source, name: name, limits: limits)
  // If product and version are given, the build replaces ContentInfo.plist, and then checks it.
  let isInfoReplaced = productIdentifier != nil && version != nil
  let findings = examination.findings.filter { !isInfoReplaced || $0.code != .contentInfoInvalid }
  if let error = ContentError.combined(
    findings.map { (name, $0.message, $0.error(in: name)) }, "Cannot convert \(name)",
    remedy: "Correct the archive and convert it again")
  {
    throw error
  }
  try requireSpace(for: examination, name, in: output, limits)
  let prefix = ".\(outputName.utf8.count < 200 ? outputName : "").unpacked"
  return try output.withTemporaryDirectory(prefix) { folder in
    // The build can replace ContentInfo.plist.
    _ = try unpackPackage(
      source, name: name, into: folder, expected: nil, limits: limits, readsInfo: false
    ) { _ in }
    return try buildPackage(
      folder: folder, name: name, output: output, outputName: outputName,
      productIdentifier: productIdentifier, contentIdentifier: contentIdentifier,
      version: version, limits: limits)
  }
}

/// Throws `diskFull` if the files and the package that is built from them do not fit.
private func requireSpace(
  for examination: PackageExamination, _ name: String, in output: Directory,
  _ limits: PackageLimits
) throws {
  let (available, blockLength) = try output.space()
  // A package of files that do not compress is about as long as the files.
  let needed =
    examination.entries.spaceOnDisk(blockLength: blockLength)
    + min(examination.installedSize, limits.packageLength) + (4 << 20)
  guard available < needed else { return }
  throw ContentError(
    .diskFull,
    "Cannot convert \(name): it needs \(needed) bytes in \(output.path) "
      + "for its files and the package, where \(available) are free",
    remedy: "Free \(needed - available) bytes there and try again", subject: name)
}

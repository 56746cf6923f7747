package import ContentModel
package import FileIO

/// Builds the flat product archive `outputName` in `output` from an archive in any form that is
/// read.
///
/// `name` is what messages call the archive. It is examined before anything is written: if it
/// breaks rules, the error names all findings. Then it is unpacked into a private temporary folder
/// in `output`, from which `buildPackage` builds. So the package is the same, byte for byte, as one
/// of the folder that was archived. Throws `diskFull` before anything is written if files and
/// package do not fit. After a throw nothing of this call is left. Otherwise as `buildPackage`.
package func convertPackage(
  _ source: any ByteSource, name: String, output: Directory, outputName: String,
  productIdentifier: ProductIdentifier? = nil, contentIdentifier: ProductIdentifier? = nil,
  version: ContentVersion? = nil, limits: PackageLimits = .standard
) throws -> PackageExamination {
  try checkReplaceable(outputName, in: output)
  let examination = try examinePackage(source, name: name, limits: limits)
  // The build replaces ContentInfo.plist if product and version are given, and judges it then.
  let isInfoReplaced = productIdentifier != nil && version != nil
  let findings = examination.findings.filter { !isInfoReplaced || $0.code != .contentInfoInvalid }
  if let error = ContentError.combined(
    findings.map { (name, $0.error(in: name)) }, "\(name) cannot be converted",
    remedy: "Convert it again when it is corrected")
  {
    throw error
  }
  try requireSpace(for: examination, name, in: output, limits)
  let prefix = ".\(outputName.utf8.count < 200 ? outputName : "").unpacked"
  return try output.withTemporaryDirectory(prefix) { folder in
    _ = try unpackForBuild(source, name: name, into: folder, limits: limits)
    return try buildPackage(
      folder: folder, name: name, output: output, outputName: outputName,
      productIdentifier: productIdentifier, contentIdentifier: contentIdentifier,
      version: version, limits: limits)
  }
}

/// Refuses an archive whose files do not fit beside the package that is built of them.
private func requireSpace(
  for examination: PackageExamination, _ name: String, in output: Directory,
  _ limits: PackageLimits
) throws {
  let (available, blockLength) = try output.space()
  // A package of files that cannot be compressed is about as long as they are.
  let needed =
    examination.entries.spaceOnDisk(blockLength: blockLength)
    + min(examination.installedSize, limits.packageLength) + (4 << 20)
  guard available < needed else { return }
  throw ContentError(
    .diskFull,
    "\(name) needs \(needed) bytes in \(output.path) for its files and the package, "
      + "where \(available) are free",
    remedy: "Free \(needed - available) bytes there and start again", subject: name)
}

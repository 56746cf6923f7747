import HostedConcurrency
package import HostedModel
import HostedDigests
package import HostedFileIO

/// Builds the flat product archive `outputName` in `output` from a folder with `Contents`.
///
/// `ContentInfo.plist` is read from the folder. `productIdentifier`, `contentIdentifier` and
/// `version` override its values. If the file does not exist, it is created, provided that product
/// and version are given. Without a content identifier, the content is the product's own, and the
/// key is not written.
///
/// The folder is checked first; if it breaks a rule, the error of the first finding is thrown. The
/// package is read back before it is renamed to `outputName`, so a partial file never has that
/// name. The same folder gives the same bytes for any number of `workers`, which is the number of
/// processors by default. Messages use `name` for the folder, its path by default.
package func buildPackage(
  folder: Directory, name: String? = nil, output: Directory, outputName: String,
  productIdentifier: ProductIdentifier?, contentIdentifier: ProductIdentifier? = nil,
  version: ContentVersion?, workers: Int? = nil, limits: PackageLimits = .standard
) throws -> PackageExamination {
  try checkReplaceable(outputName, in: output)
  let name = name ?? folder.path
  let content = try ContentFolder(folder, name: name, limits: limits)
  if let first = content.findings.first {
    let count = content.findings.count
    let more = count > 1 ? " (and \(count - 1) more)" : ""
    throw ContentError(
      first.code, "Cannot build from \(name): \(first.message)\(more)", remedy: first.remedy,
      subject: first.path ?? name)
  }
  let info = try ContentInfoDocument(
    of: folder, name: name, product: productIdentifier, content: contentIdentifier,
    version: version)
  let newName = ".\(outputName).new"
  try output.removeFile(newName)
  // Outside of `do`, so that the cleanup only removes a file that this call has created.
  let file = try output.createFile(newName)
  let inode = try file.status().identity.inode
  // Another build of the same package removes the file and creates its own.
  func isOwn() throws -> Bool { try output.status(of: newName)?.identity.inode == inode }
  do {
    let archive = try writeArchive(
      file, content, info, workers ?? WorkerThreads.standardCount, limits)
    let examination = try examinePackage(
      FileByteSource(output.file(newName)), name: outputName, limits: limits)
    if let finding = examination.findings.first { throw finding.error(in: outputName) }
    // Last, so that the disk writes while the archive is read back.
    try archive.sync()
    guard try isOwn() else {
      throw ContentError(
        .buildFailed, "\(output.path(of: newName)) was replaced while it was written",
        remedy: "Make sure that no other program builds the same package, and try again",
        subject: output.path(of: newName))
    }
    try output.rename(newName, to: output, outputName)
    try output.sync()
    return examination
  } catch {
    // Report the first error. If the file cannot be removed now, the next build removes it.
    if (try? isOwn()) == true { try? output.removeFile(newName) }
    throw error
  }
}

/// Throws if `name` exists and is not a regular file, because a rename would replace it.
func checkReplaceable(_ name: String, in folder: Directory) throws {
  guard let kind = try folder.status(of: name)?.kind, kind != .file else { return }
  let path = folder.path(of: name)
  throw ContentError(
    .usage, "\(path) cannot be replaced by a package: not a regular file",
    remedy: "Use a new name or the name of a regular file", subject: path)
}

/// Writes the payload and then the header before it, and returns the archive, not durable yet.
private func writeArchive(
  _ file: consuming File, _ content: ContentFolder, _ info: ContentInfoDocument, _ workers: Int,
  _ limits: PackageLimits
) throws -> PayloadOutput {
  let texts = ProductTexts(info: info, content: content)
  let small = try texts.files.map { name, bytes in
    XarWriter.File(
      name: name, length: Int64(bytes.count), checksum: try DigestStream.bytes(.sha1, of: bytes))
  }
  let smallBytes = texts.files.flatMap(\.bytes)
  var packed = XarWriter.File(name: "Payload")
  func beginning() throws -> [UInt8] {
    try XarWriter.beginning(of: small + [packed], folder: texts.folder) + smallBytes
  }
  let start = Int64(try beginning().count)
  let output = PayloadOutput(file, at: start, upTo: limits.packageLength)
  let payload = try PayloadWriter(output, workers: workers)
  (packed.length, packed.checksum) = try writeEntries(of: content, info, to: payload)
  try output.complete(beginning: beginning())
  return output
}

private func writeEntries(
  of content: ContentFolder, _ info: ContentInfoDocument, to payload: PayloadWriter
) throws -> (length: Int64, checksum: [UInt8]) {
  try payload.add(path: ".", mode: 0o040755)
  // Its name sorts before "Contents".
  try payload.add(path: "./\(ContentInfo.fileName)", mode: 0o100644, bytes: info.bytes)
  for entry in content.entries {
    let path = "./\(entry.path)"
    switch entry.kind {
    case .directory: try payload.add(path: path, mode: 0o040755)
    case .link(let target):
      try payload.add(path: path, mode: 0o120777, bytes: Array(target.utf8))
    case .file, .hardLink:
      let file = try content.open(entry)
      try payload.add(path: path, mode: 0o100644, size: entry.size ?? 0) {
        try file.read(into: $0, at: $1)
      }
    }
  }
  return try payload.finish()
}

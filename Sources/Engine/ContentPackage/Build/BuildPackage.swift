import Concurrency
package import ContentModel
import Digests
package import FileIO
import FoundationEssentials

/// Builds the flat product archive `outputName` in `output` from a folder with `Contents`.
///
/// ContentInfo.plist is taken from the folder; `productIdentifier`, `contentIdentifier` and
/// `version` override what it says, and create it when product and version are given. A content
/// that neither names is the product's own, for which nothing is written. The rules are checked
/// first: a folder that breaks one throws that finding's error. The package is read back before it
/// appears under its name, so never half a file does. The same folder gives the same bytes, however
/// many `workers` pack it: as many as there are processors unless given. `name` is what messages
/// call the folder, its path unless given.
package func buildPackage(
  folder: Directory, name: String? = nil, output: Directory, outputName: String,
  productIdentifier: ProductIdentifier?, contentIdentifier: ProductIdentifier? = nil,
  version: ContentVersion?, workers: Int? = nil, limits: PackageLimits = .standard
) throws -> PackageExamination {
  try checkReplaceable(outputName, in: output)
  let name = name ?? folder.path
  var content = try ContentFolder(folder, name: name)
  let findings = content.brokenRules(limits)
  if let first = findings.first {
    let more = findings.count > 1 ? " (and \(findings.count - 1) more)" : ""
    throw ContentError(
      first.code, "Cannot build from \(name): \(first.message)\(more)", remedy: first.remedy,
      subject: first.path ?? name)
  }
  let (info, bytes) = try contentInfo(
    of: folder, name, productIdentifier, contentIdentifier, version)
  content.setContentInfo(bytes)
  let newName = ".\(outputName).new"
  try output.removeFile(newName)
  // Outside of `do`: only a file that this call has created is removed.
  let file = try output.createFile(newName)
  do {
    let archive = try writeArchive(
      file, content, ProductTexts(info: info, content: content),
      workers ?? WorkerThreads.standardCount, limits)
    let examination = try examinePackage(
      FileByteSource(output.file(newName)), name: outputName, limits: limits)
    if let finding = examination.findings.first { throw finding.error(in: outputName) }
    // Last, so that the disk writes while the archive is read back.
    try archive.sync()
    try output.rename(newName, to: output, outputName)
    try output.sync()
    return examination
  } catch {
    // The first failure is the one to report; what cannot be removed now is removed by the next
    // build.
    try? output.removeFile(newName)
    throw error
  }
}

/// Refuses to replace anything but a regular file: a rename would take the place of a device or a
/// link.
func checkReplaceable(_ name: String, in folder: Directory) throws {
  guard let kind = try folder.status(of: name)?.kind, kind != .file else { return }
  let path = folder.path(of: name)
  throw ContentError(
    .usage, "\(path) is not a regular file, so the package cannot replace it",
    remedy: "Give a new name, or the name of a regular file", subject: path)
}

/// Writes the payload behind the room for the archive's beginning, and then the beginning; the
/// archive, which is not durable yet.
private func writeArchive(
  _ file: consuming File, _ content: ContentFolder, _ texts: ProductTexts, _ workers: Int,
  _ limits: PackageLimits
) throws -> PayloadWriter {
  var archive = XarWriter()
  var small: [UInt8] = []
  for (path, bytes) in texts.files {
    var digest = DigestStream(.sha1)
    try bytes.withUnsafeBytes { try digest.update($0) }
    archive.add(path, length: Int64(bytes.count), checksum: try digest.finishBytes())
    small += bytes
  }
  archive.reserve("\(texts.name)/Payload")
  let start = Int64(try archive.beginning().count + small.count)
  let payload = try PayloadWriter(
    file, at: start, upTo: limits.packageLength, workers: workers)
  let (length, checksum) = try writeEntries(of: content, to: payload)
  archive.completeLast(length: length, checksum: checksum)
  try payload.complete(beginning: archive.beginning() + small)
  return payload
}

private func writeEntries(of content: ContentFolder, to payload: PayloadWriter) throws
  -> (length: Int64, checksum: [UInt8])
{
  try payload.add(path: ".", mode: 0o040755)
  for entry in content.entries {
    let path = "./\(entry.path)"
    switch entry.kind {
    case .directory: try payload.add(path: path, mode: 0o040755)
    case .link(let target):
      try payload.add(path: path, mode: 0o120777, bytes: Array(target.utf8))
    case .memory(let bytes):
      try payload.add(path: path, mode: 0o100644, size: Int64(bytes.count)) { buffer, offset in
        let rest = bytes[Int(offset)...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
      }
    case .file(let size):
      let file = try content.open(entry)
      try payload.add(path: path, mode: 0o100644, size: size) { try file.read(into: $0, at: $1) }
    }
  }
  return try payload.finish()
}

/// What ContentInfo.plist is to say, and its bytes: those on disk wherever they say it already.
private func contentInfo(
  of folder: Directory, _ name: String, _ product: ProductIdentifier?,
  _ content: ProductIdentifier?, _ version: ContentVersion?
) throws -> (ContentInfo, [UInt8]) {
  guard try folder.status(of: ContentInfo.fileName) != nil else {
    guard let product, let version else {
      throw ContentError(
        .contentInfoInvalid, "There is no ContentInfo.plist in \(name)",
        remedy: "Add the file, or give both the product and the content version",
        subject: name)
    }
    let info = ContentInfo(
      productIdentifier: product, contentIdentifier: content, version: version)
    return (info, try info.document(changing: [:]))
  }
  let bytes = try folder.contents(
    of: ContentInfo.fileName, limit: Int64(ContentInfo.maximumLength))
  let known: ContentInfo?
  do {
    known = try ContentInfo(propertyList: bytes)
  } catch  where product != nil && version != nil {
    // Both keys are replaced, so they may be missing; all else must still be well-formed.
    known = nil
  }
  guard let product = product ?? known?.productIdentifier, let version = version ?? known?.version
  else { throw ContentInfo.invalid("it names no product or no version") }
  let info = ContentInfo(
    productIdentifier: product, contentIdentifier: try content ?? keptContent(known, bytes),
    version: version)
  if let known, known == info, known.version.rawValue == version.rawValue { return (info, bytes) }
  return (info, try info.document(changing: ContentInfo.values(in: bytes)))
}

/// The content that the list on disk names beside its product; nil when it is the product's own.
///
/// Of a list that lacks other keys (`known` is nil), this one must be kept or refused all the same.
private func keptContent(_ known: ContentInfo?, _ bytes: [UInt8]) throws -> ProductIdentifier? {
  if let known {
    return known.contentIdentifier == known.productIdentifier ? nil : known.contentIdentifier
  }
  switch try ContentInfo.values(in: bytes)[ContentInfo.contentKey] {
  case nil: return nil
  case .string(let text): return try ContentInfo.contentIdentifier(text)
  default: throw ContentInfo.invalid("\(ContentInfo.contentKey) is no string")
  }
}

extension ContentInfo {
  fileprivate static let contentKey = "HCContentIdentifier"

  /// All keys of a property list; `contentInfoInvalid` when it is none.
  fileprivate static func values(in bytes: [UInt8]) throws -> [String: PropertyListValue] {
    try PropertyListShape.check(bytes)
    do {
      return try PropertyListDecoder().decode([String: PropertyListValue].self, from: Data(bytes))
    } catch {
      throw invalid("it is no well-formed property list", cause: "\(error)")
    }
  }

  /// A property list with these values, and the other keys of `values`.
  fileprivate func document(changing values: [String: PropertyListValue]) throws -> [UInt8] {
    var values = values
    values["IAPProductIdentifier"] = .string(productIdentifier.rawValue)
    values["ContentVersion"] = .string(version.rawValue)
    values[Self.contentKey] =
      contentIdentifier == productIdentifier ? nil : .string(contentIdentifier.rawValue)
    return try PropertyListValue.dictionary(values).document
  }
}

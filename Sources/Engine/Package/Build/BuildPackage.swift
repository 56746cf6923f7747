import HostedConcurrency
import HostedDigests
package import HostedFileIO
package import HostedModel

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

/// The small files of a flat product archive, in addition to the payload.
///
/// They are what `productbuild --content` writes. A product identifier has no characters that XML
/// must escape. Source: productbuild(1).
private struct ProductTexts {
  private let identifier: String
  private let version: String
  private let fileCount: Int
  private let kilobytes: Int64

  init(info: ContentInfoDocument, content: ContentFolder) {
    identifier = info.info.productIdentifier.rawValue
    version = info.info.version.rawValue
    // With the root and ContentInfo.plist.
    fileCount = content.entries.count + 2
    let size = content.entries.filter { $0.kind.indexed == .file }
      .reduce(Int64(info.bytes.count)) { $0 + ($1.size ?? 0) }
    kilobytes = (size + 1023) / 1024
  }

  /// The folder of the component in the archive.
  var folder: String { "\(identifier).pkg" }

  /// The names and bytes of the file at the archive's root and the file in `folder`.
  var files: [(name: String, bytes: [UInt8])] {
    [("Distribution", Array(distribution.utf8)), ("PackageInfo", Array(packageInfo.utf8))]
  }

  private var distribution: String {
    """
    <?xml version="1.0" encoding="utf-8"?>
    <installer-gui-script minSpecVersion="1">
        <pkg-ref id="\(identifier)"/>
        <options customize="never" require-scripts="false"/>
        <product id="\(identifier)" version="\(version)"/>
        <choices-outline>
            <line choice="default">
                <line choice="\(identifier)"/>
            </line>
        </choices-outline>
        <choice id="default"/>
        <choice id="\(identifier)" visible="false">
            <pkg-ref id="\(identifier)"/>
        </choice>
        <pkg-ref id="\(identifier)" version="0" onConclusion="none" \
    installKBytes="\(kilobytes)">#\(folder)</pkg-ref>
    </installer-gui-script>

    """
  }

  private var packageInfo: String {
    """
    <?xml version="1.0" encoding="utf-8"?>
    <pkg-info overwrite-permissions="true" relocatable="false" identifier="\(identifier)" \
    postinstall-action="none" version="0" format-version="2" auth="none">
        <payload numberOfFiles="\(fileCount)" installKBytes="\(kilobytes)"/>
    </pkg-info>

    """
  }
}

/// Lays out a xar archive of a few small files and one long file.
///
/// All data are stored uncompressed, so that each part of the long file is a byte range of the
/// archive. The length of the header does not depend on numbers and checksums, so that the long
/// file can be written before they are known. SHA-1 is used because libarchive and older readers do
/// not support newer digests. Source: the xar format.
private enum XarWriter {
  struct File {
    let name: String
    var length: Int64 = 0
    var checksum = [UInt8](repeating: 0, count: Int(XarWriter.digestLength))
  }

  // The heap starts with the digest of the compressed table of contents.
  private static let digestLength: Int64 = 20

  /// Returns everything before the first file: header, table of contents and its digest.
  ///
  /// The first file is at the root, the others are in `folder`.
  static func beginning(of files: [File], folder: String) throws -> [UInt8] {
    let table = Array(tableOfContents(files, folder).utf8)
    // zlib's stored blocks, because the length must not depend on the content.
    let packed = try Compressor(level: 0).compressedStream(table)
    let header =
      Array("xar!".utf8) + bigEndian(28, 2) + bigEndian(1, 2) + bigEndian(UInt64(packed.count), 8)
      + bigEndian(UInt64(table.count), 8) + bigEndian(1, 4)
    return try header + packed + DigestStream.bytes(.sha1, of: packed)
  }

  private static func tableOfContents(_ files: [File], _ folder: String) -> String {
    var offset = digestLength
    let elements = files.enumerated().map { index, file in
      defer { offset += file.length }
      // The folder has number 2.
      return element(file, number: index == 0 ? 1 : index + 2, offset: offset)
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <xar>
       <toc>
        <checksum style="sha1">
         <offset>0</offset>
         <size>\(digestLength)</size>
        </checksum>
      \(elements[0])  <file id="2">
         <name>\(folder)</name>
         <type>directory</type>
         <mode>0755</mode>
      \(elements.dropFirst().joined())  </file>
       </toc>
      </xar>

      """
  }

  private static func element(_ file: File, number: Int, offset: Int64) -> String {
    let checksum = Hexadecimal.text(of: file.checksum)
    return """
        <file id="\(number)">
         <name>\(file.name)</name>
         <type>file</type>
         <mode>0644</mode>
         <data>
          <archived-checksum style="sha1">\(checksum)</archived-checksum>
          <extracted-checksum style="sha1">\(checksum)</extracted-checksum>
          <encoding style="application/octet-stream"/>
          \(padded("size", file.length))
          \(padded("offset", offset))
          \(padded("length", file.length))
         </data>
        </file>

      """
  }

  /// Returns an element with a number, padded after it to a constant length.
  private static func padded(_ name: String, _ number: Int64) -> String {
    let digits = String(number)
    return "<\(name)>\(digits)</\(name)>" + String(repeating: " ", count: max(0, 19 - digits.count))
  }

  private static func bigEndian(_ number: UInt64, _ length: Int) -> [UInt8] {
    (0..<length).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (length - 1 - $0))) }
  }
}

import HostedModel
import HostedPackage
import HostedDigests
import HostedFileIO
import Foundation
import HostedTestSupport

/// Returns the content of a folder by path: digests of files, `-> target` of links, `/` of folders.
func tree(_ directory: Directory, _ prefix: String = "") throws -> [String: String] {
  var found: [String: String] = [:]
  for entry in try directory.entries() {
    let name = entry.name
    switch entry.kind {
    case .directory:
      found[prefix + name] = "/"
      try found.merge(tree(directory.directory(name), prefix + name + "/")) { first, _ in first }
    case .link: found[prefix + name] = try "-> " + (directory.link(name) ?? "")
    case .file:
      found[prefix + name] = try Digest(of: directory.contents(of: name, limit: 64 << 20)).hex
    case .other: found[prefix + name] = "?"
    }
  }
  return found
}

/// Writes files below `directory`.
///
/// A value that starts with `-> ` is a link.
func write(_ files: [String: String], to directory: Directory) throws {
  for (path, text) in files.sorted(by: { $0.key < $1.key }) {
    var folder = directory
    let parts = path.pathComponents()
    for part in parts.dropLast() { folder = try folder.createDirectory(part) }
    if text.hasPrefix("-> ") {
      try folder.createLink(parts.last ?? "", to: String(text.dropFirst(3)))
    } else {
      try folder.createFile(parts.last ?? "").write(Array(text.utf8))
    }
  }
}

/// A small chapter with non-ASCII names, an empty file, a link and a file of several pieces.
let chapter: [String: String] = [
  "ContentInfo.plist": contentInfoText(),
  "Contents/page-1.txt": "The lighthouse kept no log of the fog.",
  "Contents/bilder/übersicht.txt": "ä ö ü",
  "Contents/empty": "",
  "Contents/long.txt": String(repeating: "All work and no play. ", count: 40_000),
  "Contents/deep/er/last": "-> ../../page-1.txt",
]

/// Creates a folder that contains the chapter.
func chapterFolder() throws -> TemporaryFolder {
  let folder = try TemporaryFolder()
  try write(chapter, to: folder.directory)
  return folder
}

/// Returns the package of the chapter, built once for all tests.
func builtChapter() throws -> [UInt8] { try packedChapter.get() }

private let packedChapter = Result {
  let folder = try chapterFolder()
  let output = try TemporaryFolder()
  _ = try buildPackage(
    folder: folder.directory, output: output.directory, outputName: "chapter.pkg",
    productIdentifier: nil, version: nil)
  return try output.directory.contents(of: "chapter.pkg", limit: 64 << 20)
}

func examine(_ bytes: [UInt8], limits: PackageLimits = .standard) throws -> PackageExamination {
  try examinePackage(MemorySource(bytes), name: "test.pkg", limits: limits)
}

/// Unpacks into a new subfolder of a new folder, so that an escape is visible.
struct Unpacked {
  let outside = TemporaryFolderBox()
  let files: [InstalledFile]

  init(
    _ bytes: [UInt8], expected: ExpectedPackage? = nil, limits: PackageLimits = .standard,
    isContent: Bool = true, into box: TemporaryFolderBox? = nil
  ) throws {
    let parent = try (box ?? outside).folder().directory
    let source = MemorySource(bytes)
    files =
      isContent
      ? try unpackPackage(
        source, name: "test.pkg", into: parent.createDirectory("inside"), expected: expected,
        limits: limits, progress: { _ in })
      : try unpack(
        source, name: "test.pkg", as: "inside", in: parent, isContent: false, limits: limits)
    made = try tree(parent.directory("inside"))
  }

  let made: [String: String]
}

/// A temporary folder that is created at its first use.
final class TemporaryFolderBox {
  private var made: TemporaryFolder?

  func folder() throws -> TemporaryFolder {
    let folder = try made ?? TemporaryFolder()
    made = folder
    return folder
  }
}

func expectedPackage(
  _ product: String = "com.example.test", _ version: String = "1.0", content: String? = nil,
  entries: [IndexedFile]?
) throws -> ExpectedPackage {
  ExpectedPackage(
    ContentInfo(
      productIdentifier: try ProductIdentifier(validating: product),
      contentIdentifier: try content.map { try ProductIdentifier(validating: $0) },
      version: try ContentVersion(validating: version)), entries: entries)
}

package import ContentModel
import Digests
import FileIO

/// A difference between what was installed and what is there.
package struct ContentDamage: Hashable, Codable, Sendable {
  package let contentIdentifier: ProductIdentifier
  package let version: ContentVersion
  /// The path below the version's folder; empty for the folder itself.
  package let path: String
  package let problem: Problem

  /// What is wrong with a path.
  package enum Problem: String, Codable, Sendable {
    case missing, changed, unexpected
    /// `current` names no version that is there; said of the newest one.
    case dangling
  }
}

extension ContentLibrary {
  /// What was installed of a version; nil where its record cannot be read.
  package func recordedFiles(of content: InstalledContent) throws -> [InstalledFile]? {
    do {
      return try journal.files(of: content.contentIdentifier, content.version)
    } catch let error as ContentError where error.code == .journalFailed {
      return nil
    }
  }

  /// Compares every byte of an installed version with what was installed; changes nothing.
  ///
  /// `pace` holds the reading back; nil reads as fast as it can. `isStopped` is called before each file, and
  /// what it throws ends the work.
  package func verify(
    _ content: InstalledContent, files: [InstalledFile], pace: ReadPace? = nil,
    isStopped: () throws -> Void = {}
  ) throws -> [ContentDamage] {
    func damage(_ path: String, _ problem: ContentDamage.Problem) -> ContentDamage {
      ContentDamage(
        contentIdentifier: content.contentIdentifier, version: content.version, path: path,
        problem: problem)
    }
    let tree: Directory
    do {
      tree = try folder.products.directory(content.contentIdentifier.rawValue)
        .directory(content.version.rawValue)
    } catch let error as ContentError where error.code == .fileMissing {
      return [damage("", .missing)]
    }
    let walker = TreeWalker(tree)
    var found: [ContentDamage] = []
    if try lacksCurrent(content) { found.append(damage(Self.currentName, .dangling)) }
    for file in files {
      try isStopped()
      if let problem = try problem(of: file.entry, walker, pace) {
        found.append(damage(file.entry.path, problem))
      }
    }
    let known = Self.withParents(files.map(\.entry.path))
    for path in try Self.paths(in: tree) where !known.contains(path) {
      found.append(damage(String(decoding: path, as: UTF8.self), .unexpected))
    }
    return found
  }

  private func lacksCurrent(_ content: InstalledContent) throws -> Bool {
    guard try currentVersion(of: content.contentIdentifier) == nil else { return false }
    return try !journal.installed(content.contentIdentifier).contains {
      $0.version > content.version
    }
  }

  private func problem(
    of entry: IndexedFile, _ walker: TreeWalker, _ pace: ReadPace?
  ) throws -> ContentDamage.Problem? {
    guard let place = try walker.parent(of: entry.path),
      let status = try place.folder.status(of: place.name)
    else { return .missing }
    switch entry.kind {
    case .directory:
      // Nobody else may put files beside those that were verified.
      return status.kind == .directory && status.permissions & 0o022 == 0 ? nil : .changed
    case .link: return try place.folder.link(place.name) == entry.target ? nil : .changed
    case .file:
      guard status.kind == .file, status.size == entry.size, status.isSealed else {
        return .changed
      }
      return try Self.digest(of: place.folder.file(place.name), pace) == entry.digest
        ? nil : .changed
    }
  }

  private static func digest(of file: consuming File, _ pace: ReadPace?) throws -> Digest {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
    defer { buffer.deallocate() }
    var stream = DigestStream()
    var offset: Int64 = 0
    while true {
      let count = try file.read(into: buffer, at: offset)
      try stream.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      pace?.pass(count)
      if count < buffer.count { return try stream.finish() }
    }
  }

  /// The paths' bytes and the folders above them, since an archive need not name its folders.
  private static func withParents(_ paths: [String]) -> Set<ArraySlice<UInt8>> {
    let paths = paths.map { Array($0.utf8)[...] }
    var known = Set(paths)
    for path in paths {
      var rest = path
      while let slash = rest.lastIndex(of: UInt8(ascii: "/")) {
        rest = rest[..<slash]
        if !known.insert(rest).inserted { break }
      }
    }
    return known
  }

  /// The bytes of all paths in a folder: the disk has names that are equal as texts, and names that are
  /// none, in whose folders nobody can look.
  private static func paths(
    in folder: Directory, below prefix: [UInt8] = []
  ) throws -> [ArraySlice<UInt8>] {
    let entries = try folder.entries().sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    return try entries.flatMap { entry in
      let path = prefix + entry.bytes
      guard entry.kind == .directory, entry.isText else { return [path[...]] }
      return try [path[...]]
        + paths(in: folder.directory(entry.name), below: path + [UInt8(ascii: "/")])
    }
  }
}

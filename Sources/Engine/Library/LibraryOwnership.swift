import HostedModel
import HostedFileIO

/// Distinguishes a library from a folder with a user's other files.
extension LibraryFolder {
  /// Entries of `products` and `staging` that may exist before the first start completes.
  ///
  /// An interrupted start leaves them, or the file system creates them in its root folder.
  private static let harmlessNames: Set<String> = [".CACHEDIR.TAG.new", "lost+found"]

  /// Throws `libraryFolderTaken` if `root` is not a library but has an entry with a name of a
  /// library.
  ///
  /// A library has a journal or our CACHEDIR.TAG. Both are written before anything that could be
  /// lost.
  static func checkOwnership(of root: Directory) throws {
    for name in ["products", "staging"] {
      guard let status = try root.status(of: name), status.kind != .directory else { continue }
      throw taken(root, name, "which is not a folder")
    }
    guard try !isLibrary(root) else { return }
    if let lock = try root.status(of: "lock") {
      let isOwn =
        try lock.kind == .file && lock.size <= 4096
        && LibraryLock.isHolder(root.contents(of: "lock", limit: 4096))
      guard isOwn else { throw taken(root, "lock", "which is not the lock of a library") }
    }
    guard let name = try unknownEntry(in: root) else { return }
    // Another process may have created the library in the meantime.
    guard try !isLibrary(root) else { return }
    throw taken(root, name, "which does not belong to a library")
  }

  private static func isLibrary(_ root: Directory) throws -> Bool {
    if try root.status(of: "journal.sqlite")?.kind == .file { return true }
    return try ["products", "staging"].contains { name in
      guard try root.status(of: name) != nil else { return false }
      let folder = try root.directory(name)
      guard let tag = try folder.status(of: "CACHEDIR.TAG"), tag.kind == .file,
        tag.size == cacheTag.utf8.count
      else { return false }
      return try folder.contents(of: "CACHEDIR.TAG", limit: tag.size) == Array(cacheTag.utf8)
    }
  }

  /// The first entry that an engine could mistake for its own; nil if none exists.
  private static func unknownEntry(in root: Directory) throws -> String? {
    for name in ["products", "staging"] where try root.status(of: name) != nil {
      let entries = try root.directory(name).entries()
      if let entry = entries.first(where: { !harmlessNames.contains($0.name) }) {
        return "\(name)/\(entry.name)"
      }
    }
    return try root.status(of: "trust") == nil ? nil : "trust"
  }

  private static func taken(_ root: Directory, _ name: String, _ reason: String) -> ContentError {
    ContentError(
      .libraryFolderTaken, "Cannot use \(root.path) as a library: it has \(name), \(reason)",
      remedy: "Choose another folder, or move \(name) away", subject: root.path)
  }
}

import FoundationEssentials
import Glibc
import HostedDigests
package import HostedFileIO
import HostedModel

package struct LibraryFolder: Sendable {
  package let root: Directory
  /// Installed versions, one folder for each content.
  package let products: Directory
  /// Staging, one folder for each download.
  package let staging: Directory

  /// Opens the library at `path` for reading; throws `fileMissing` if it does not exist.
  package init(reading path: String, fileSystem: FileSystem = .real) throws {
    root = try fileSystem.directory(at: path)
    products = try root.directory("products")
    staging = try root.directory("staging")
  }

  /// Opens the library at `path` for an engine.
  ///
  /// Creates what is missing. Throws `libraryFolderTaken` if the folder has other files under the
  /// names that a library uses.
  package init(creating path: String, fileSystem: FileSystem = .real) throws {
    root = try fileSystem.directory(at: path, creating: true)
    try Self.checkOwnership(of: root)
    products = try root.createDirectory("products")
    // Readers of other users open this folder too. Its contents are for the engine only.
    staging = try root.createDirectory("staging")
    try root.sync()
  }

  /// Marks the folders as caches: for backup tools, and as a library's folders for the next start.
  ///
  /// The caller holds the lock.
  package func markAsCaches() throws {
    for folder in [products, staging] where try folder.status(of: "CACHEDIR.TAG") == nil {
      try Self.checkLinks(in: folder)
      // First, because the tag implies that both exist.
      folder.setAttribute("user.xdg.robots.backup", to: "false")
      try folder.replaceFile("CACHEDIR.TAG", with: Array(Self.cacheTag.utf8))
    }
  }

  /// Makes all data and names on the file system durable.
  ///
  /// If it fails, staging is in doubt: its files can be read, but may not be on the disk.
  package func sync() throws {
    do {
      // Always with this descriptor, because the kernel reports an error once to each open one.
      try staging.syncFileSystem()
    } catch {
      _ = try? staging.updatedFile(Self.doubtName, mode: 0o600)
      throw error
    }
  }

  /// Whether a sync has failed since staging was empty, also in an earlier process.
  func isInDoubt() throws -> Bool { try staging.status(of: Self.doubtName) != nil }

  /// Ends the doubt; nothing that was written before is in staging anymore.
  func endDoubt() throws { try staging.removeFile(Self.doubtName) }

  private static let doubtName = ".sync-failed"

  /// The text of CACHEDIR.TAG; files of other programs have other comments.
  private static let cacheTag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # Everything here can be fetched again from the store. See https://bford.info/cachedir/

    """

  /// Throws `fileSystemUnsupported` if the file system has no symbolic links, before any download.
  private static func checkLinks(in folder: Directory) throws {
    // The next file takes this name.
    let name = ".CACHEDIR.TAG.new"
    do {
      try folder.removeFile(name)
      try folder.createLink(name, to: "CACHEDIR.TAG")
    } catch let error as ContentError
      where [.notPermitted, .fileSystemUnsupported].contains(error.code)
    {
      throw ContentError(
        .fileSystemUnsupported,
        "Cannot use \(folder.path) as a library: the file system does not support symbolic links",
        remedy: "Choose a folder on a local file system, such as ext4, XFS, Btrfs or ZFS",
        subject: folder.path, cause: error.cause)
    }
  }

  /// Deletes removed folders from staging.
  ///
  /// Returns whether it found any. `sync` makes the file system durable first. Otherwise, a power
  /// failure could restore a version's name without its files.
  package func deleteRemoved(after sync: () throws -> Void) throws -> Bool {
    let removed = try staging.entries().filter {
      $0.kind == .directory && StagingName.isRemoval($0.name)
    }
    guard !removed.isEmpty else { return false }
    try sync()
    for entry in removed { try staging.removeTree(entry) }
    return true
  }

  // MARK: Folders of other programs

  /// Entries of `products` and `staging` that may exist before the first start completes.
  ///
  /// An interrupted start leaves them, or the file system creates them in its root folder.
  private static let harmlessNames: Set<String> = [".CACHEDIR.TAG.new", "lost+found"]

  /// Throws `libraryFolderTaken` if `root` is not a library but has an entry with a name of a
  /// library.
  ///
  /// A library has a journal or our CACHEDIR.TAG. Both are written before anything that could be
  /// lost.
  private static func checkOwnership(of root: Directory) throws {
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

/// The lock of a library; one engine holds it until it is released or the process ends.
package final class LibraryLock: Sendable {
  private let file: File

  /// Takes the lock; throws `libraryLocked` with the name of the process that holds it.
  package init(_ folder: Directory) throws {
    // A user who could open the file could also lock it.
    let file = try folder.privateFile("lock")
    guard try file.tryLock() else {
      let text = String(decoding: try file.contents(limit: 4096), as: UTF8.self)
      let holder = (text.split(separator: "\n").first ?? "?").drop { $0 == " " }
      throw ContentError(
        .libraryLocked, "The library \(folder.path) is in use by process \(holder)",
        remedy: "Wait for that process to end, or use another library", subject: folder.path)
    }
    self.file = file
    // From here on, `deinit` releases the lock, even if this throws.
    let number = String(getpid())
    let padding = String(repeating: " ", count: max(0, Self.numberWidth - number.utf8.count))
    let name = CommandLine.arguments.first?.split(separator: "/").last ?? "unknown"
    let holder = Array("\(padding)\(number) (\(name))\n".utf8)
    do {
      // Overwrite the existing block: on a full disk, an emptied file could not grow again.
      try holder.withUnsafeBytes { try self.file.write($0, at: 0) }
      try self.file.truncate(to: Int64(holder.count))
    } catch let error as ContentError where error.code == .diskFull {
      // The lock is valid without the text, which only helps other processes.
    }
  }

  deinit { release() }

  /// The width of the right-aligned process identifier, in columns.
  ///
  /// A power failure may leave any mixture of an old text, a new text and zeros. Because all parts
  /// are at fixed positions, the mixture can be recognized.
  private static let numberWidth = 10

  /// Whether `text` is the text of a lock file, or what a power failure has left of it.
  static func isHolder(_ text: [UInt8]) -> Bool {
    let isNumber = text.prefix(numberWidth).allSatisfy {
      $0.isDigit || [0, UInt8(ascii: " ")].contains($0)
    }
    let mark = zip(text.dropFirst(numberWidth), " (".utf8)
    return isNumber && mark.allSatisfy { $0 == $1 || $0 == 0 }
  }

  /// Releases the lock, from any thread; another call does nothing.
  package func release() { file.unlock() }
}

/// The names of the folders that a library creates in `staging`; other names are never removed.
enum StagingName {
  private static let removal = "removed-"

  /// Returns the name of a download's or repair's folder; throws `inconsistent` for another name.
  static func checked(_ id: String) throws -> String {
    guard isDownloadOrRepair(id) else {
      throw ContentError.defect(
        "“\(id)” is not the name of a download or a repair", subject: id)
    }
    return id
  }

  /// Whether it is a lower-case UUID (a repair), or a UUID, `-` and a number from 1 (a download).
  static func isDownloadOrRepair(_ name: String) -> Bool {
    let identifier = String(name.prefix(36))
    guard UUID(uuidString: identifier)?.uuidString.lowercased() == identifier else { return false }
    let rest = name.dropFirst(36)
    return rest.isEmpty || rest.first == "-" && isNumber(rest.dropFirst())
  }

  /// Whether it is `removed-`, a digest of the subject, `-` and an inode number.
  static func isRemoval(_ name: String) -> Bool {
    guard name.hasPrefix(removal) else { return false }
    let digest = name.dropFirst(removal.count).prefix(64)
    let number = name.dropFirst(removal.count + 64)
    return Digest(hex: digest)?.hex == String(digest) && number.first == "-"
      && isNumber(number.dropFirst())
  }

  /// The prefix of the names of a subject's removed folders; a subject is a version, or a
  /// download's identifier.
  ///
  /// It uses a digest, because content and version together may be too long for a file name.
  static func removalPrefix(of subject: String) throws -> String {
    "\(removal)\(try Digest(of: Array(subject.utf8)))-"
  }

  static func subject(of content: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(content)/\(version.rawValue)"
  }

  private static func isNumber(_ digits: Substring) -> Bool {
    UInt64(digits).map { $0 > 0 && "\($0)" == digits } ?? false
  }
}

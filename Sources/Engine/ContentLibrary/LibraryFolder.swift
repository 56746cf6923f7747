package import FileIO
import ContentModel
import Glibc
import Concurrency

/// The folders of a library and the lock that keeps a second engine out.
package struct LibraryFolder: Sendable {
  /// The library's own folder.
  package let root: Directory
  /// Installed versions, a folder a content.
  package let products: Directory
  /// What is being filled, a folder a download.
  package let staging: Directory

  /// Opens the library at `path` for reading; throws `fileMissing` when there is none.
  package init(reading path: String, fileSystem: FileSystem = .real) throws {
    root = try fileSystem.directory(at: path)
    products = try root.directory("products")
    staging = try root.directory("staging")
  }

  /// Opens the library at `path` for an engine; creates what is missing.
  ///
  /// Throws `libraryFolderTaken` if the folder holds files of somebody else where a library has its
  /// own.
  package init(creating path: String, fileSystem: FileSystem = .real) throws {
    root = try fileSystem.directory(at: path, creating: true)
    try Self.checkOwnership(of: root)
    products = try root.createDirectory("products")
    // Readers of other users open it, too; what is in it is for the engine only.
    staging = try root.createDirectory("staging")
    try root.sync()
  }

  /// Tells backup tools to pass over what can be fetched again, and the next start that the folders
  /// belong to a library; for who holds the lock.
  package func markAsCaches() throws {
    for folder in [products, staging] { try Self.markAsCache(folder) }
  }

  /// What a library writes into CACHEDIR.TAG; the files of other programs have other comments.
  static let cacheTag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # Everything here can be fetched again from the store. See https://bford.info/cachedir/

    """

  private static func markAsCache(_ folder: Directory) throws {
    guard try folder.status(of: "CACHEDIR.TAG") == nil else { return }
    try checkLinks(in: folder)
    // First, because the tag says that both are there.
    folder.setAttribute("user.xdg.robots.backup", to: "false")
    try folder.replaceFile("CACHEDIR.TAG", with: Array(cacheTag.utf8))
  }
}

extension LibraryFolder {
  /// Throws `fileSystemUnsupported` where `current` cannot be made; once, before anything is
  /// downloaded.
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
        "Cannot keep a library in \(folder.path): the file system has no symbolic links",
        remedy: "Choose a folder on a local file system, such as ext4, XFS, Btrfs or ZFS",
        subject: folder.path, cause: error.cause)
    }
  }
}

/// The right to change a library, held by one engine until it is released or its process ends.
package final class LibraryLock: Sendable {
  private let file: Mutex<File?>

  /// Takes the lock; throws `libraryLocked`, naming the process that has it.
  package init(_ folder: Directory) throws {
    // Another user who could open it could also lock it.
    let file = try folder.privateFile("lock")
    guard try file.tryLock() else {
      let holder = try file.contents(limit: 4096)
      throw ContentError(
        .libraryLocked,
        "The library \(folder.path) is in use by process \(Self.holder(holder))",
        remedy: "Wait for that process to end, or use another library", subject: folder.path)
    }
    self.file = Mutex(file)
    // From here on `deinit` releases it, also when this throws.
    try self.file.withLock { file in
      let number = String(getpid())
      let padding = String(repeating: " ", count: max(0, Self.numberWidth - number.utf8.count))
      let holder = Array("\(padding)\(number) (\(Self.processName))\n".utf8)
      do {
        // In the block that the file has: once it is empty, a full disk would not have it any more.
        try holder.withUnsafeBytes { try file?.write($0, at: 0) }
        try file?.truncate(to: Int64(holder.count))
      } catch let error as ContentError where error.code == .diskFull {
        // The lock holds without the name, which only tells others who has it.
      }
    }
  }

  deinit { release() }

  /// The columns of the process's number, which is right-aligned in them.
  ///
  /// A power failure may leave any mixture of an old text, a new one and zeros. Since all have
  /// their parts in the same places, the mixture can be recognized.
  private static let numberWidth = 10

  /// Whether `text` is what an engine writes into its lock, or what a power failure has left of it.
  static func isHolder(_ text: [UInt8]) -> Bool {
    let isNumber = text.prefix(numberWidth).allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || [0, UInt8(ascii: " ")].contains($0)
    }
    let mark = zip(text.dropFirst(numberWidth), " (".utf8)
    return isNumber && mark.allSatisfy { $0 == $1 || $0 == 0 }
  }

  /// The process in the text of a lock.
  private static func holder(_ text: [UInt8]) -> String {
    let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first ?? "?"
    return String(line.drop { $0 == " " })
  }

  /// Lets another engine in.
  package func release() {
    file.withLock { file in
      file?.unlock()
      file = nil
    }
  }

  private static var processName: String {
    CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "unknown"
  }
}

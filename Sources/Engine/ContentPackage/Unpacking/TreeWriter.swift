import ContentModel
import FileIO

/// Creates files, folders and links below a folder, by one name below an open folder each.
///
/// The folders above the last entry stay open, so that a folder with thousands of files is opened
/// once.
final class TreeWriter {
  private let root: Directory
  private var chain: [(name: String, folder: Directory)] = []

  init(root: Directory) { self.root = root }

  /// Returns the folder at `components`; creates missing folders, and does not follow links.
  func folder(at components: some Collection<String>) throws -> Directory {
    let shared = zip(chain, components).prefix { $0.0.name.hasSameBytes(as: $0.1) }.count
    chain.removeLast(chain.count - shared)
    for name in components.dropFirst(shared) {
      let parent = chain.last?.folder ?? root
      chain.append((name, try parent.createDirectory(name)))
    }
    return chain.last?.folder ?? root
  }

  /// Creates the file at `components`, which must not exist.
  func createFile(at components: [String]) throws -> File {
    try folder(at: components.dropLast()).createFile(components.last ?? "", mode: 0o444)
  }

  /// Creates the symbolic link at `components`.
  func createLink(at components: [String], to target: String) throws {
    try folder(at: components.dropLast()).createLink(components.last ?? "", to: target)
  }

  /// Creates a hard link to the file at `source`.
  func createHardLink(at components: [String], to source: [String]) throws {
    let folder = try folder(at: components.dropLast())
    let sourceFolder = try root.directory(at: source.dropLast())
    try sourceFolder.hardLink(source.last ?? "", to: folder, components.last ?? "")
  }

  /// Returns the current identity of the file at `path`.
  func identity(ofFileAt path: String) throws -> FileIdentity? {
    let components = path.pathComponents()
    return try root.directory(at: components.dropLast()).status(of: components.last ?? "")?.identity
  }
}

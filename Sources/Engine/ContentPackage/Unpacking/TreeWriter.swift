import ContentModel
import FileIO

/// Makes files, folders and links below a folder, reaching each by one name below an open folder.
///
/// The folders above the last entry stay open, so that thousands of files in one folder open it
/// once.
final class TreeWriter {
  private let root: Directory
  private var chain: [(name: String, folder: Directory)] = []

  init(root: Directory) { self.root = root }

  /// The folder at `components`, opened one by one without following a link, made where missing.
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

  /// Gives the file at `source` a second name.
  func createHardLink(at components: [String], to source: [String]) throws {
    let folder = try folder(at: components.dropLast())
    let sourceFolder = try root.directory(at: source.dropLast())
    try sourceFolder.hardLink(source.last ?? "", to: folder, components.last ?? "")
  }

  /// The identity of the file at `path` as it is now.
  func identity(ofFileAt path: String) throws -> FileIdentity? {
    let components = path.pathComponents()
    return try root.directory(at: components.dropLast()).status(of: components.last ?? "")?.identity
  }
}

import ContentModel
import FileIO

/// Finds paths below a folder, one component at a time, without following links.
///
/// Keeps the folder of the last path open, because paths are sorted. For one thread.
final class TreeWalker {
  private let root: Directory
  private var components: [String] = []
  private var parents: [Directory] = []

  init(_ root: Directory) { self.root = root }

  /// The folder of `path` and the name in it; nil if a parent folder is missing.
  func parent(of path: String) throws -> (folder: Directory, name: String)? {
    var wanted = path.pathComponents()
    guard let name = wanted.popLast() else { return nil }
    let shared = zip(components, wanted).prefix { $0.hasSameBytes(as: $1) }.count
    components.removeLast(components.count - shared)
    parents.removeLast(parents.count - shared)
    for component in wanted[shared...] {
      let folder = parents.last ?? root
      // Nil if it is missing, or not a folder.
      let next = try nilIf(.fileMissing) { try folder.directory(component) }
      guard let next else { return nil }
      parents.append(next)
      components.append(component)
    }
    return (parents.last ?? root, name)
  }

  /// The status of `path`; nil if it does not exist.
  func status(of path: String) throws -> FileStatus? {
    guard let place = try parent(of: path) else { return nil }
    return try place.folder.status(of: place.name)
  }
}

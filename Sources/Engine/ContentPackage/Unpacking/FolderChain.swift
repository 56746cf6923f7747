import ContentModel
import FileIO

/// Opens folders below a root without following links, and keeps the last ones open.
///
/// Paths are mostly sorted, so few folders are opened more than once. Use it from one thread.
final class FolderChain {
  private let root: Directory
  private var chain: [(name: String, folder: Directory)] = []
  /// The path of the last folder in `chain`.
  private var path = ""

  init(_ root: Directory) { self.root = root }

  /// Returns the folder that contains `path`, and the name in it.
  ///
  /// Throws `fileMissing` if a folder of the path is missing or is not a folder.
  func parent(of path: String) throws -> (folder: Directory, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (root, path) }
    let name = String(path[path.utf8.index(after: slash)...])
    return (try folder(at: path[..<slash]), name)
  }

  private func folder(at wanted: Substring) throws -> Directory {
    if let last = chain.last, path.hasSameBytes(as: wanted) { return last.folder }
    let components = wanted.pathComponents()
    let shared = zip(chain, components).prefix { $0.0.name.hasSameBytes(as: $0.1) }.count
    chain.removeLast(chain.count - shared)
    path = ""
    for component in components.dropFirst(shared) {
      chain.append((component, try (chain.last?.folder ?? root).directory(component)))
    }
    path = String(wanted)
    return chain.last?.folder ?? root
  }
}

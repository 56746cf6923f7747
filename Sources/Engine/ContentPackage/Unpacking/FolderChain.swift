import ContentModel
import FileIO

/// Opens folders below a root, one by one without following links, and keeps the last ones open.
///
/// Paths come mostly in order, so few folders are opened more than once. For one thread.
final class FolderChain {
  private let root: Directory
  private var chain: [(name: String, folder: Directory)] = []
  /// The path of the last folder of the chain.
  private var path = ""

  init(_ root: Directory) { self.root = root }

  /// The folder that holds `path`, and the name in it.
  ///
  /// Throws `fileMissing` when a folder on the way is missing or is none.
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

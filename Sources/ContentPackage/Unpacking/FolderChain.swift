import FileIO

/// Opens folders below a root, one by one without following links, and keeps the last ones open.
///
/// Paths come mostly in order, so few folders are opened more than once. For one thread.
final class FolderChain {
  private let root: Directory
  private var chain: [(name: Substring, folder: Directory)] = []

  init(_ root: Directory) { self.root = root }

  /// The folder that holds `path`, and the name in it.
  ///
  /// Throws `fileMissing` when a folder on the way is missing or is none.
  func parent(of path: String) throws -> (folder: Directory, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (root, path) }
    let name = String(path[path.utf8.index(after: slash)...])
    return (try folder(at: path[..<slash]), name)
  }

  private func folder(at path: Substring) throws -> Directory {
    var depth = 0
    for component in path.split(separator: "/") {
      if depth < chain.count, chain[depth].name.utf8.elementsEqual(component.utf8) {
        depth += 1
        continue
      }
      chain.removeLast(chain.count - depth)
      let parent = chain.last?.folder ?? root
      chain.append((component, try parent.directory(String(component))))
      depth += 1
    }
    chain.removeLast(chain.count - depth)
    return chain.last?.folder ?? root
  }
}

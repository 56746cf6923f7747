import HostedModel

/// Opens folders below a root without following links, and keeps the last ones open.
///
/// Paths are mostly sorted, so few folders are opened more than once. Use it from one thread.
package final class FolderChain {
  private let root: Directory
  private var chain: [(name: String, folder: Directory)] = []
  /// The path of the last folder in `chain`, or nil after an error.
  private var path: String?

  package init(_ root: Directory) { self.root = root }

  /// Returns the folder that contains `path`, and the name in it.
  ///
  /// With `creating`, creates missing folders. Otherwise, throws `fileMissing` if a folder of the
  /// path is missing. Also throws it if one of them is not a folder.
  package func parent(of path: String, creating: Bool = false) throws
    -> (folder: Directory, name: String)
  {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (root, path) }
    let name = String(path[path.utf8.index(after: slash)...])
    return (try folder(at: path[..<slash], creating: creating), name)
  }

  /// Returns the status of `path`, or nil if it or a folder above it is missing.
  package func status(of path: String) throws -> FileStatus? {
    try nilIf(.fileMissing) {
      let place = try parent(of: path)
      return try place.folder.status(of: place.name)
    }
  }

  /// Opens the regular file at `path` for reading.
  package func file(_ path: String) throws -> File {
    let place = try parent(of: path)
    return try place.folder.file(place.name)
  }

  /// Creates the folder at `path` and missing folders above it.
  package func createFolders(_ path: String) throws {
    _ = try folder(at: path[...], creating: true)
  }

  private func folder(at wanted: Substring, creating: Bool) throws -> Directory {
    if let last = chain.last, let path, path.hasSameBytes(as: wanted) { return last.folder }
    let components = wanted.pathComponents()
    let shared = zip(chain, components).prefix { $0.0.name.hasSameBytes(as: $0.1) }.count
    chain.removeLast(chain.count - shared)
    path = nil
    for name in components.dropFirst(shared) {
      let parent = chain.last?.folder ?? root
      chain.append((name, try creating ? parent.createDirectory(name) : parent.directory(name)))
    }
    path = String(wanted)
    return chain.last?.folder ?? root
  }
}

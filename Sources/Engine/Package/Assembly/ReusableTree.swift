package import HostedModel
package import HostedFileIO

/// A tree of installed files; files and pieces that have not changed are not fetched again.
package struct ReusableTree: Sendable {
  package let root: Directory
  /// The installed files, sorted by the bytes of their paths.
  package let files: [InstalledFile]
  /// Whether a sealed file with its recorded identity counts as unchanged.
  ///
  /// If not, each file is hashed.
  package let isTrusted: Bool

  package init(root: Directory, files: [InstalledFile], isTrusted: Bool = true) {
    self.root = root
    self.files = files
    self.isTrusted = isTrusted
  }

  /// Returns whether a file was installed at `path`.
  func hasFile(at path: String) -> Bool {
    let place = files.partitionPoint { $0.entry.path.precedesByBytes(path) }
    return place < files.count && files[place].entry.kind == .file
      && files[place].entry.path.hasSameBytes(as: path)
  }
}

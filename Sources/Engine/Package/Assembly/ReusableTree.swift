package import HostedFileIO
package import HostedModel

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

  func hasFile(at path: String) -> Bool {
    let place = files.partitionPoint { $0.entry.path.precedesByBytes(path) }
    return place < files.count && files[place].entry.kind == .file
      && files[place].entry.path.hasSameBytes(as: path)
  }
}

/// An index of the files of installed trees, by digest and by path.
final class ReuseCatalog: Sendable {
  struct Place: Hashable, Sendable {
    let tree: Int
    let file: Int
  }

  /// A few are enough in case the first one is damaged.
  private static let maximumPlacesPerDigest = 4

  let trees: [ReusableTree]
  /// The files with each digest, the newest tree first.
  private let places: [Digest: [Place]]

  init(_ trees: [ReusableTree]) {
    self.trees = trees
    var places: [Digest: [Place]] = [:]
    places.reserveCapacity(trees.reduce(0) { $0 + $1.files.count })
    for (tree, files) in trees.map(\.files).enumerated() {
      for (number, file) in files.enumerated() {
        guard let digest = file.entry.digest else { continue }
        places[digest, default: []].append(Place(tree: tree, file: number))
      }
    }
    self.places = places
  }

  /// Returns a few places where a file with the same bytes is installed.
  func places(of file: IndexedFile) -> ArraySlice<Place> {
    let known = file.digest.flatMap { places[$0] } ?? []
    return known.prefix(Self.maximumPlacesPerDigest)
  }

  func path(of place: Place) -> String { trees[place.tree].files[place.file].entry.path }
}

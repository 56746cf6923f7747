import HostedModel

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

  /// Returns the trees with a file of the same path.
  func treesWithNamesake(of file: IndexedFile) -> [Int] {
    trees.indices.filter { trees[$0].hasFile(at: file.path) }
  }

  func path(of place: Place) -> String { trees[place.tree].files[place.file].entry.path }
}

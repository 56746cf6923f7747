import ContentModel

/// An index of the files of installed trees, by digest and by path.
final class ReuseCatalog: Sendable {
  /// A file of a tree.
  struct Place: Hashable, Sendable {
    let tree: Int
    let file: Int
  }

  /// A few are enough in case the first one is damaged.
  private static let maximumPlacesPerDigest = 4

  let trees: [ReusableTree]
  /// The index in `places` of each digest's first place.
  private let first: [Digest: Int]
  /// All files, the newest tree first.
  private let places: [Place]
  /// The index of the next place with the same digest, or -1.
  private let next: [Int]

  init(_ trees: [ReusableTree]) {
    self.trees = trees
    var first: [Digest: Int] = [:]
    first.reserveCapacity(trees.reduce(0) { $0 + $1.files.count })
    var places: [Place] = []
    for (tree, files) in trees.map(\.files).enumerated() {
      for (number, file) in files.enumerated() where file.entry.digest != nil {
        places.append(Place(tree: tree, file: number))
      }
    }
    var next = [Int](repeating: -1, count: places.count)
    // In reverse order, so that each place links to the next one.
    for (number, place) in zip(places.indices, places).reversed() {
      guard let digest = trees[place.tree].files[place.file].entry.digest else { continue }
      next[number] = first.updateValue(number, forKey: digest) ?? -1
    }
    self.first = first
    self.places = places
    self.next = next
  }

  /// Returns a few places where a file with the same bytes is installed.
  func places(of file: IndexedFile) -> some Sequence<Place> {
    let start = file.digest.flatMap { first[$0] } ?? -1
    return sequence(state: start) { [places, next] number -> Place? in
      guard number >= 0 else { return nil }
      defer { number = next[number] }
      return places[number]
    }.prefix(Self.maximumPlacesPerDigest)
  }

  /// Returns the trees with a file of the same path.
  func treesWithNamesake(of file: IndexedFile) -> [Int] {
    trees.indices.filter { trees[$0].hasFile(at: file.path) }
  }

  func path(of place: Place) -> String { trees[place.tree].files[place.file].entry.path }
}

extension ReusableTree {
  /// Returns whether a file was installed at `path`.
  fileprivate func hasFile(at path: String) -> Bool {
    let place = files.partitionPoint { $0.entry.path.precedesByBytes(path) }
    return place < files.count && files[place].entry.kind == .file
      && files[place].entry.path.hasSameBytes(as: path)
  }
}

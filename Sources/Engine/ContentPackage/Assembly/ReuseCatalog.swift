import ContentModel

/// The files of installed trees, by digest and by path.
final class ReuseCatalog: Sendable {
  /// A file of a tree.
  struct Place: Hashable, Sendable {
    let tree: Int
    let file: Int
  }

  /// A few are enough, should the first be damaged.
  private static let placesOfOneDigest = 4

  let trees: [ReusableTree]
  /// The first place of each digest, by its number in `places`.
  private let first: [Digest: Int]
  /// All files, the newest tree first.
  private let places: [Place]
  /// The next place of the same digest; -1 behind the last.
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
    // From the last on, so that each finds those behind it.
    for (number, place) in zip(places.indices, places).reversed() {
      guard let digest = trees[place.tree].files[place.file].entry.digest else { continue }
      next[number] = first.updateValue(number, forKey: digest) ?? -1
    }
    self.first = first
    self.places = places
    self.next = next
  }

  /// Where a file of the same bytes was installed, a few of these places.
  func places(of file: IndexedFile) -> some Sequence<Place> {
    let start = file.digest.flatMap { first[$0] } ?? -1
    return sequence(state: start) { [places, next] number -> Place? in
      guard number >= 0 else { return nil }
      defer { number = next[number] }
      return places[number]
    }.prefix(Self.placesOfOneDigest)
  }

  /// Files of the same path, in the order of the trees.
  func namesakes(of file: IndexedFile) -> [(tree: Int, path: String)] {
    trees.indices.filter { trees[$0].hasFile(at: file.path) }.map { ($0, file.path) }
  }

  func path(of place: Place) -> String { trees[place.tree].files[place.file].entry.path }
}

extension ReusableTree {
  /// Whether a file was installed at `path`; found by halving, since the files are in order.
  fileprivate func hasFile(at path: String) -> Bool {
    var low = 0
    var high = files.count
    while low < high {
      let middle = (low + high) / 2
      if files[middle].entry.path.precedesByBytes(path) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low < files.count && files[low].entry.kind == .file
      && files[low].entry.path.hasSameBytes(as: path)
  }
}

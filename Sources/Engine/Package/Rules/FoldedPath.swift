import HostedModel

/// A path as a key that ignores case and Unicode composition.
///
/// It stores the hash of the folded path, since the folded path would double the memory.
struct FoldedPath: Hashable {
  let path: String
  private let folded: Int

  init(_ path: String) {
    self.path = path
    // Swift compares and hashes strings by canonical equivalence.
    folded = path.lowercased().hashValue
  }

  static func == (left: Self, right: Self) -> Bool {
    left.folded == right.folded
      && (left.path.hasSameBytes(as: right.path)
        || left.path.lowercased() == right.path.lowercased())
  }

  func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

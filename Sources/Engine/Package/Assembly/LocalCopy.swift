import HostedModel

/// The local copy of a file's bytes, if there is one; bytes with a local copy are not fetched.
enum LocalCopy: Sendable {
  case nothing
  /// The complete, verified file is in staging.
  case staged(FileIdentity)
  /// The complete file is in an installed tree at `path`.
  ///
  /// It can be hard-linked if `isSealed`, that is, neither writable nor executable.
  case installed(tree: Int, path: String, isSealed: Bool)
  case pieces([Piece])

  struct Piece: Sendable {
    let part: Int
    /// Nil if the part is already at its offset in the staged file.
    let source: Source?
  }

  /// The tree with a file of the same path, and the offset that a piece can be copied from.
  struct Source: Sendable {
    let tree: Int
    let offset: Int64
  }

  /// The identity of a complete file in staging.
  var stagedIdentity: FileIdentity? {
    if case .staged(let identity) = self { identity } else { nil }
  }

  /// The parts that are already at their offsets in the staged file.
  var stagedParts: [Int] {
    guard case .pieces(let pieces) = self else { return [] }
    return pieces.filter { $0.source == nil }.map(\.part)
  }
}

package import ContentModel
package import FileIO

/// A tree of installed files, whose unchanged files and pieces need not be fetched again.
package struct ReusableTree: Sendable {
  /// Its root.
  package let root: Directory
  /// What was installed there, by the bytes of their paths.
  package let files: [InstalledFile]
  /// Whether a file whose identity is the journaled one is taken for unchanged; else each is
  /// hashed.
  package let isTrusted: Bool

  /// Creates a source of files.
  package init(root: Directory, files: [InstalledFile], isTrusted: Bool = true) {
    self.root = root
    self.files = files
    self.isTrusted = isTrusted
  }
}

/// Where the bytes of a file are at hand, so that they need not be fetched.
enum AtHand: Sendable {
  /// Nowhere.
  case nothing
  /// In staging, whole and as promised.
  case staged(FileIdentity)
  /// In an installed tree, whole: at this path; `isSealed` when it may be shared, since nobody made
  /// it writable or executable.
  case installed(tree: Int, path: String, isSealed: Bool)
  /// Some parts of it: each with its place and the offset there.
  case pieces([Piece])

  /// One part of a file that was found.
  struct Piece: Sendable {
    let part: Int
    /// Nil when the part is in its place in staging already.
    let source: Source?
  }

  /// Where a piece can be copied from.
  struct Source: Sendable {
    let tree: Int
    let path: String
    let offset: Int64
  }
}

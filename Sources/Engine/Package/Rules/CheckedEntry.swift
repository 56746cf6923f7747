import HostedModel

/// An entry that keeps the rules.
struct CheckedEntry {
  /// The path relative to the content's root.
  let path: String
  let kind: Kind
  /// The length of the data in bytes, or nil if the archive does not record it.
  let size: Int64?
  /// The folders above it that had no entry so far, from the top.
  let impliedFolders: [String]
  /// Whether it is a folder that an earlier path has implied.
  let isKnownFolder: Bool

  enum Kind {
    case file, directory
    case link(target: String)
    /// A hard link to the earlier file at this path.
    case hardLink(to: String)

    var targetLength: Int {
      if case .link(let target) = self { target.utf8.count } else { 0 }
    }

    /// The kind as an index records it; a hard link is a file there.
    var indexed: IndexedFile.Kind {
      switch self {
      case .file, .hardLink: .file
      case .directory: .directory
      case .link: .link
      }
    }
  }
}

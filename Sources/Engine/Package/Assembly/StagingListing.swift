import HostedModel
import HostedFileIO

/// An entry of staging that is not part of the package.
struct UnexpectedEntry: Sendable {
  /// The path of the parent folder with a trailing slash; empty for staging itself.
  let prefix: String
  let entry: DirectoryEntry
}

/// The content that an interrupted download has left in staging.
struct StagingListing {
  private(set) var present: Set<String> = []
  private(set) var unexpectedEntries: [UnexpectedEntry] = []
  private let index: PackageIndex
  // Lazy, since staging is empty in most cases. Keys are bytes, since strings with different bytes
  // can be equal.
  private lazy var kinds = Dictionary(
    index.files.map { (Array($0.path.utf8), $0.kind) }, uniquingKeysWith: { first, _ in first })

  init(_ staging: Directory?, _ index: PackageIndex) throws {
    self.index = index
    if let staging { try list(staging, below: "") }
  }

  private mutating func list(_ folder: Directory, below prefix: String) throws {
    for entry in try folder.entries() {
      switch (entry.kind, kinds[Array(prefix.utf8) + entry.bytes]) {
      case (.directory, .directory):
        let path = prefix + entry.name
        present.insert(path)
        try list(folder.directory(entry.name), below: path + "/")
      case (.file, .file), (.link, .link): present.insert(prefix + entry.name)
      default: unexpectedEntries.append(UnexpectedEntry(prefix: prefix, entry: entry))
      }
    }
  }
}

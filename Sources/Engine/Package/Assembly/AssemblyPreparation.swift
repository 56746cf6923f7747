import HostedModel
import HostedFileIO

extension PackageSurvey {
  /// Creates folders and links in staging, and removes unexpected and incorrect entries.
  func prepare(_ staging: Directory) throws {
    let chain = FolderChain(staging)
    for unexpected in unexpectedEntries {
      let place = try chain.parent(of: unexpected.prefix + unexpected.entry.name)
      try place.folder.removeTree(unexpected.entry)
    }
    for (entry, state) in zip(plan.index.files, states) {
      let isPresent = present.contains(entry.path)
      switch entry.kind {
      case .directory where !isPresent:
        let place = try chain.parent(of: entry.path)
        try place.folder.createDirectory(place.name, exclusive: true)
      case .link: try makeLink(entry, chain, isPresent)
      case .file where isPresent && Self.mustRemove(state):
        let place = try chain.parent(of: entry.path)
        try place.folder.removeFile(place.name)
      case .directory, .file: break
      }
    }
  }

  private func makeLink(_ entry: IndexedFile, _ chain: FolderChain, _ isPresent: Bool) throws {
    let place = try chain.parent(of: entry.path)
    if isPresent {
      if try place.folder.link(place.name).hasSameBytes(as: entry.target) { return }
      try place.folder.removeFile(place.name)
    }
    try place.folder.createLink(place.name, to: entry.target ?? "")
  }

  /// Returns whether a file in staging must be removed; only verified content is kept.
  private static func mustRemove(_ state: LocalCopy) -> Bool {
    switch state {
    case .staged: false
    case .pieces: state.stagedParts.isEmpty
    case .nothing, .installed: true
    }
  }
}

import ContentModel
import FileIO

/// Creates folders, links and empty files, and removes unexpected entries.
struct AssemblyPreparation {
  private let survey: PackageSurvey
  private let folder: Directory

  init(_ survey: PackageSurvey, _ folder: Directory) {
    self.survey = survey
    self.folder = folder
  }

  func run() throws {
    let chain = FolderChain(folder)
    for unexpected in survey.unexpectedEntries {
      let place = try chain.parent(of: unexpected.prefix + unexpected.entry.name)
      try place.folder.removeTree(unexpected.entry)
    }
    for (entry, state) in zip(survey.plan.index.files, survey.states) {
      let isPresent = survey.present.contains(entry.path)
      switch entry.kind {
      case .directory: try makeFolder(entry.path, chain, isPresent)
      case .link: try makeLink(entry, chain, isPresent)
      case .file: if isPresent, Self.mustRemove(state) { try remove(entry.path, chain) }
      }
    }
  }

  private func makeFolder(_ path: String, _ chain: FolderChain, _ isPresent: Bool) throws {
    guard !isPresent else { return }
    let place = try chain.parent(of: path)
    try place.folder.createDirectory(place.name, exclusive: true)
  }

  private func makeLink(_ entry: IndexedFile, _ chain: FolderChain, _ isPresent: Bool) throws {
    let place = try chain.parent(of: entry.path)
    if isPresent {
      if try place.folder.link(place.name) == entry.target { return }
      try place.folder.removeFile(place.name)
    }
    try place.folder.createLink(place.name, to: entry.target ?? "")
  }

  /// Returns whether a file in staging must be removed; only verified content is kept.
  private static func mustRemove(_ state: LocalCopy) -> Bool {
    switch state {
    case .staged: false
    case .pieces(let pieces): !pieces.contains { $0.source == nil }
    case .nothing, .installed: true
    }
  }

  private func remove(_ path: String, _ chain: FolderChain) throws {
    let place = try chain.parent(of: path)
    try place.folder.removeFile(place.name)
  }
}

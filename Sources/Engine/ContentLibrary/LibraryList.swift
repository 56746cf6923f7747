import Concurrency
package import ContentModel
import FileIO

/// An installed version, as `ContentLibrary.list` returns it.
package struct ListedContent: Sendable {
  package let content: InstalledContent
  /// Whether `current` names it.
  package let isCurrent: Bool
  /// Whether recorded files are missing, or have another kind or size; nil if unknown.
  package let lacksFiles: Bool?
}

extension ContentLibrary {
  /// All installed versions, by content and version.
  ///
  /// A content with an unreadable folder is listed without a current version, so that the others
  /// can be used. Operations on that content report the error. Unless `checksFiles`, it is unknown
  /// whether files are missing.
  package func list(checksFiles: Bool = false) throws -> [ListedContent] {
    let installed = try journal.installed()
    // Sorted, so that the versions of a content are neighbors.
    let starts = installed.indices.filter {
      $0 == 0 || installed[$0 - 1].contentIdentifier != installed[$0].contentIdentifier
    }
    let contents = zip(starts, starts.dropFirst() + [installed.count]).map { $0..<$1 }
    let listed = try inParallel(
      contents, workers: WorkerThreads.standardCount, portion: 64, context: {}
    ) { [self] range, _ in (range, try list(installed[range], checksFiles)) }
    return listed.sorted { $0.0.lowerBound < $1.0.lowerBound }.flatMap(\.1)
  }

  /// Lists the versions of one content.
  private func list(
    _ versions: ArraySlice<InstalledContent>, _ checksFiles: Bool
  ) throws -> [ListedContent] {
    var (home, current): (Directory?, ContentVersion?)
    var folderErrors = FolderErrors()
    try folderErrors.collect {
      home = try versions.first.flatMap { try self.home(of: $0.contentIdentifier) }
      current = try home.flatMap { try Self.current(in: $0) }
    }
    return versions.map { content in
      ListedContent(
        content: content, isCurrent: current?.rawValue == content.version.rawValue,
        lacksFiles: checksFiles ? lacksFiles(content, in: home) : nil)
    }
  }

  private func lacksFiles(_ content: InstalledContent, in home: Directory?) -> Bool? {
    if let tree = try? home?.directory(content.version.rawValue),
      (try? missingFiles(of: content, in: tree))?.isEmpty == true
    {
      return false
    }
    // It may be being removed. Other users cannot read the records.
    return (try? missingFiles(of: content)).map { !$0.isEmpty }
  }
}

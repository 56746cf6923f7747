import HostedConcurrency
package import HostedModel
import HostedFileIO

/// An installed version, as `ContentLibrary.list` returns it.
package struct ListedContent: Sendable {
  package let content: InstalledContent
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
    let portions = Self.portions(of: try journal.installed())
    let listed = try inParallel(
      portions, workers: checksFiles ? WorkerThreads.standardCount : 1, portion: 1, context: {}
    ) { [self] portion, _ in (portion.startIndex, try list(portion, checksFiles)) }
    return listed.sorted { $0.0 < $1.0 }.flatMap(\.1)
  }

  /// Versions whose files are read at a time: at most 64, and few enough files to fit in memory.
  private static func portions(of installed: [InstalledContent]) -> [ArraySlice<InstalledContent>] {
    var (portions, start, entries): ([ArraySlice<InstalledContent>], Int, Int) = ([], 0, 0)
    for (index, content) in installed.enumerated() {
      entries += content.entryCount
      guard entries > 10_000 || index - start == 63 || index == installed.count - 1 else {
        continue
      }
      portions.append(installed[start...index])
      (start, entries) = (index + 1, 0)
    }
    return portions
  }

  private func list(
    _ portion: ArraySlice<InstalledContent>, _ checksFiles: Bool
  ) throws -> [ListedContent] {
    let files = (checksFiles ? try? journal.files(of: portion) : nil) ?? portion.map { _ in nil }
    var (home, current): (Directory?, ContentVersion?)
    var listed: [ListedContent] = []
    for (content, files) in zip(portion, files) {
      if content.contentIdentifier != listed.last?.content.contentIdentifier {
        (home, current) = (nil, nil)
        var folderErrors = FolderErrors()
        try folderErrors.collect {
          home = try self.home(of: content.contentIdentifier)
          current = try home.flatMap { try Self.current(in: $0) }
        }
      }
      listed.append(
        ListedContent(
          content: content, isCurrent: current?.rawValue == content.version.rawValue,
          lacksFiles: checksFiles ? lacksFiles(content, in: home, files) : nil))
    }
    return listed
  }

  /// Whether recorded files are missing; `files` if the record is already read.
  private func lacksFiles(
    _ content: InstalledContent, in home: Directory?, _ files: [InstalledFile]?
  ) -> Bool? {
    if let files, let tree = try? home?.directory(content.version.rawValue),
      (try? missing(files, of: content, in: tree))?.isEmpty == true
    {
      return false
    }
    // It may be being removed. Other users cannot read the records.
    return (try? missingFiles(of: content)).map { !$0.isEmpty }
  }
}

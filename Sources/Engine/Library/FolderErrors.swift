import HostedModel

/// Collects errors of single contents, each once, so that the others continue.
struct FolderErrors {
  private(set) var errors: [ContentError] = []

  /// Collects an error of `body` that concerns one folder, such as a damaged one.
  ///
  /// Throws errors that concern all folders, such as too many open files or a failed journal. A
  /// full disk is collected, because other contents may need no space.
  mutating func collect(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as ContentError
      where [.notPermitted, .fileFailed, .diskFull].contains(error.code)
    {
      if !errors.contains(error) { errors.append(error) }
    }
  }
}

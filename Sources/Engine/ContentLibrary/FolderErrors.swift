import ContentModel

/// What is wrong with the folders of single contents, each said once, while the others go on.
struct FolderErrors {
  private(set) var errors: [ContentError] = []

  /// Keeps an error of `body` that a folder has, such as a damaged one.
  ///
  /// Throws those that all share, such as too many open files or a journal that fails. On a full
  /// disk others may need no space.
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

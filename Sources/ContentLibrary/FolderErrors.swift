import ContentModel

/// What is wrong with the folders of single contents, each said once, while the others go on.
struct FolderErrors {
  private(set) var errors: [ContentError] = []

  /// Keeps an error of `body` that a folder has, such as a damaged one; throws those that all share, such
  /// as too many open files, a full disk or a journal that fails.
  mutating func collect(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as ContentError where [.notPermitted, .fileFailed].contains(error.code) {
      if !errors.contains(error) { errors.append(error) }
    }
  }
}

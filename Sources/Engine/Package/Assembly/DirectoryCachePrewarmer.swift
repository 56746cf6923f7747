import HostedModel
import HostedFileIO

/// Looks up the names of files before they are created, on a separate thread.
///
/// The kernel caches the negative lookup. The thread that creates the file then does not have to
/// read the folder. While ext4 writes the folder to disk, such a read waits for the write.
struct DirectoryCachePrewarmer {
  let survey: PackageSurvey
  let folder: Directory

  /// Looks up every file that is not present, in order, while `isWanted` returns true.
  func lookUpAll(while isWanted: () -> Bool) {
    let chain = FolderChain(folder)
    for file in survey.plan.index.files where file.kind == .file {
      guard isWanted() else { return }
      guard !survey.present.contains(file.path) else { continue }
      // Ignore the error. The thread that creates the file reports it.
      _ = try? chain.status(of: file.path)
    }
  }
}

import ContentModel
import FileIO

/// Looks for the names of files before these are made, on a thread of its own.
///
/// The system remembers that there is no such file. Who makes it then need not look into its
/// folder, which may just be on its way to the disk: ext4 lets everybody wait until it has arrived.
struct DirectoryCachePrewarmer {
  let survey: PackageSurvey
  let folder: Directory

  /// Looks for all that are not there yet, in their order, as long as `isWanted` says so.
  func look(while isWanted: () -> Bool) {
    let chain = FolderChain(folder)
    for file in survey.plan.index.files where file.kind == .file {
      guard isWanted() else { return }
      guard !survey.present.contains(file.path) else { continue }
      // Who makes the file hears what is wrong with its folder.
      guard let place = try? chain.parent(of: file.path) else { continue }
      _ = try? place.folder.status(of: place.name)
    }
  }
}

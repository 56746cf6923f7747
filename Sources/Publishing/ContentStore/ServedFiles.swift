import HostedModel
import HostedFileIO

/// Folders that a web server serves.
///
/// Files and folders are readable by all users, regardless of the umask: a publication often runs
/// from cron, and the web server as another user.
extension Directory {
  /// The name of a served file while it is written.
  ///
  /// One name is enough, because the publisher has locked the store.
  static let leftoverName = ".publication.new"

  /// The name of the folder of `targets` with the packages of a publication in progress.
  ///
  /// It is in `targets`, because this folder can be another file system than the store's folder.
  static let intakeName = ".publication"

  /// Removes the file of an interrupted publication.
  func removeLeftover() throws { try removeFile(Self.leftoverName) }

  /// Writes the file `name` with the content from `write`; it appears complete.
  ///
  /// The write is durable. `place` is this folder or a folder below it; nil is this folder.
  func replaceServedFile(
    _ name: String, in place: Directory? = nil, _ write: (borrowing File) throws -> Void
  ) throws {
    let place = place ?? self
    try removeLeftover()
    let file = try createFile(Self.leftoverName)
    do {
      try file.makeReadable()
      try write(file)
      try file.sync()
      try rename(Self.leftoverName, to: place, name)
    } catch {
      // It can be large. If it cannot be removed now, the next publication removes it.
      try? removeLeftover()
      throw error
    }
    try place.sync()
  }

  /// Moves the file `name` to `place` as `newName`; it appears complete.
  ///
  /// The file and its new name are durable.
  func moveServedFile(_ name: String, to place: Directory, _ newName: String) throws {
    let file = try file(name)
    try file.makeReadable()
    try file.sync()
    try rename(name, to: place, newName)
    try place.sync()
  }

  /// Creates the folder `name` with read access for all users, or opens the existing one.
  ///
  /// An existing folder that only its owner can read gets read access for all users. Other
  /// permissions are kept.
  @discardableResult
  func createServedDirectory(_ name: String) throws -> Directory {
    let isNew = try status(of: name) == nil
    let folder = try createDirectory(name)
    try folder.makeReadable(unlessShared: !isNew)
    return folder
  }

  /// Adds read and search permission for all users.
  ///
  /// With `unlessShared`, a folder that already has permissions for others is not changed.
  func makeReadable(unlessShared: Bool) throws {
    let permissions = try status().permissions
    guard permissions & 0o777 != 0o755, !unlessShared || permissions & 0o077 == 0 else { return }
    try permittedOnly { try setPermissions(permissions & 0o7000 | 0o755) }
  }
}

extension File {
  fileprivate func makeReadable() throws {
    let permissions = try status().permissions
    guard permissions & 0o777 != 0o644 else { return }
    try permittedOnly { try setPermissions(permissions & 0o7000 | 0o644) }
  }
}

/// Ignores refusals of file systems without permissions, where all files have those of the mount.
private func permittedOnly(_ body: () throws -> Void) throws {
  do {
    try body()
  } catch let error as ContentError where error.code == .notPermitted {}
}

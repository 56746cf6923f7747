import ContentModel
import FileIO

/// A folder that a web server serves, and how files get into it and into the folders below.
///
/// Everybody can read what is written, whatever the umask is: a publication often runs from cron,
/// and the web server as another user. Files appear whole.
struct ServedFolder {
  let folder: Directory

  /// What a file is called while it is written.
  ///
  /// There is one at a time, since a publisher has locked the store.
  private static let temporary = ".publication.new"

  init(_ folder: Directory) { self.folder = folder }

  /// Removes what an interrupted publication has left.
  func removeLeftover() throws { try folder.removeFile(Self.temporary) }

  /// Writes the file `name` durably, with what `write` puts into it.
  ///
  /// `place` is this folder or one below it; nil is this one.
  func replaceFile(
    _ name: String, in place: Directory? = nil, _ write: (borrowing File) throws -> Void
  ) throws {
    let place = place ?? folder
    try removeLeftover()
    let file = try folder.createFile(Self.temporary)
    do {
      try file.makeReadable()
      try write(file)
      try file.sync()
      try folder.rename(Self.temporary, to: place, name)
    } catch {
      // It can be large. What cannot be removed now is removed by the next publication.
      try? removeLeftover()
      throw error
    }
    try place.sync()
  }
}

extension File {
  fileprivate func makeReadable() throws {
    let permissions = try status().permissions
    guard permissions & 0o777 != 0o644 else { return }
    try permittedOnly { try setPermissions(permissions & 0o7000 | 0o644) }
  }
}

extension Directory {
  /// Creates the folder `name` with read access for all users, or opens the existing one.
  ///
  /// An existing folder that only its owner can read gets read access for all users. Other access
  /// rights are kept.
  @discardableResult
  func createServedDirectory(_ name: String) throws -> Directory {
    let isNew = try status(of: name) == nil
    let folder = try createDirectory(name)
    try folder.makeReadable(unlessShared: !isNew)
    return folder
  }

  /// Lets everybody read and search this folder; `unlessShared` leaves one to which others have
  /// rights.
  func makeReadable(unlessShared: Bool) throws {
    let permissions = try status().permissions
    guard permissions & 0o777 != 0o755, !unlessShared || permissions & 0o077 == 0 else { return }
    try permittedOnly { try setPermissions(permissions & 0o7000 | 0o755) }
  }
}

/// Does what file systems without permissions refuse; there, all files have those of the mount.
private func permittedOnly(_ body: () throws -> Void) throws {
  do {
    try body()
  } catch let error as ContentError where error.code == .notPermitted {}
}

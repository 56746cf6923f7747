import HostedModel
import HostedFileIO
import FoundationEssentials

/// Replaces the files in a version's folder with those of a new tree, each with one rename(2).
///
/// The folder itself stays, so that leases remain valid. At every instant, each file is the old or
/// the new one: a correct file is never missing, and open folders stay readable. It does not need
/// operations that some file systems lack, such as `RENAME_EXCHANGE`.
enum TreeReplacement {
  /// Moves all entries of `new` into `old`, and entries that only `old` has into `new`.
  ///
  /// `new` is removed later. Folders come first, so that ContentInfo.plist is last: recovery treats
  /// an announced version as complete if its files are in place.
  static func replace(_ old: Directory, by new: Directory) throws {
    let entries = try new.entries()
    let names = Set(entries.map(\.bytes))
    for entry in try old.entries() where !names.contains(entry.bytes) {
      if entry.isText {
        try old.rename(entry.name, to: new, entry.name)
      } else {
        try old.removeTree(entry)
      }
    }
    for entry in entries where entry.kind == .directory {
      try replaceFolder(entry.name, of: old, by: new)
    }
    for entry in entries where entry.kind != .directory {
      let status = try old.status(of: entry.name)
      // A hard link to a reused file. rename(2) does nothing for it.
      if try status?.identity.inode == new.status(of: entry.name)?.identity.inode { continue }
      // rename(2) cannot replace a folder with a file.
      if status?.kind == .directory { try old.removeTree(entry.name) }
      try new.rename(entry.name, to: old, entry.name)
    }
  }

  private static func replaceFolder(
    _ name: String, of old: Directory, by new: Directory
  ) throws {
    guard let status = try old.status(of: name), status.kind == .directory else {
      try old.removeFile(name)
      return try new.rename(name, to: old, name)
    }
    let (oldFolder, newFolder) = (try old.directory(name), try new.directory(name))
    let permissions = try newFolder.status().permissions
    if status.permissions != permissions { try oldFolder.setPermissions(permissions) }
    try replace(oldFolder, by: newFolder)
  }
}

extension ContentLibrary {
  /// Moves a tree to its place.
  ///
  /// Durable on return. An existing folder is being repaired, or is unknown to the journal.
  func move(
    _ name: String, of staging: Directory, to home: Directory, as content: InstalledContent
  ) throws {
    let version = content.version.rawValue
    let status = try home.status(of: version)
    if status?.kind == .directory {
      let place = try home.directory(version)
      try TreeReplacement.replace(place, by: staging.directory(name))
      try place.setModified(content.date.timeIntervalSince1970)
      try durability.everything()
    } else {
      if status != nil { try home.removeFile(version) }
      try staging.renameWithoutReplacing(name, to: home, version)
      try durability.names(in: home)
    }
  }
}

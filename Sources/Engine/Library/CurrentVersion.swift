package import HostedModel
import HostedConcurrency
import HostedFileIO

/// The link `current` of a content.
///
/// It only moves to a newer version, except from a withdrawn one, by `use`, and if its version is
/// removed.
extension ContentLibrary {
  /// Makes an installed version current if the current one is older or one of the `withdrawn` ones.
  ///
  /// Throws `notInstalled` if it was removed in the meantime, which can happen if no download waits
  /// for it.
  package func advance(
    _ content: ProductIdentifier, to version: ContentVersion,
    replacing withdrawn: [ContentVersion] = []
  ) throws {
    try contentLocks.withLock(for: content) {
      try checkInstalled(content, version)
      let home = try folder.products.directory(content.rawValue)
      if try !switchCurrent(of: home, to: version, replacing: withdrawn) {
        // The link may come from a switch whose sync failed.
        try durability.names(in: home)
      }
    }
  }

  /// Like `advance`, for a version that is in place; returns false if `current` stays.
  @discardableResult
  func switchCurrent(
    of home: Directory, to version: ContentVersion, replacing withdrawn: [ContentVersion]
  ) throws -> Bool {
    if let current = try Self.current(in: home), current >= version, !withdrawn.contains(current) {
      return false
    }
    try pointCurrent(of: home, to: version)
    return true
  }

  /// Makes `current` name `version`, or removes it for nil; one rename, durable on return.
  func pointCurrent(of home: Directory, to version: ContentVersion?) throws {
    guard let version else {
      try home.removeFile(Self.currentName)
      return try durability.names(in: home)
    }
    try home.removeFile(Self.newCurrentName)
    try home.createLink(Self.newCurrentName, to: version.rawValue)
    try home.rename(Self.newCurrentName, to: home, Self.currentName)
    try durability.names(in: home)
  }

  /// The version that `current` names, if its folder exists; nil otherwise.
  package func currentVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    try home(of: content).flatMap { try Self.current(in: $0) }
  }

  /// The version that `current` names in a content's folder, if that version exists; nil otherwise.
  static func current(in home: Directory) throws -> ContentVersion? {
    var target = try home.link(currentName)
    while let name = target, let version = try? ContentVersion(validating: name) {
      if try home.status(of: name)?.kind == .directory { return version }
      // A removal switches `current` to another version before it removes this one.
      target = try home.link(currentName)
      if target == name { break }
    }
    return nil
  }
}

import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// How a store's methods reach its metadata, its keys and its publication record.
extension StoreFolder {
  var metadataFolder: Directory { get throws { try folder.directory(Self.metadataName) } }

  /// Refuses symbolic links in the place of the folders: neither publishers nor local clients
  /// follow them, so that a link cannot lead what is written elsewhere.
  func checkNoLinks() throws {
    for name in [Self.metadataName, Self.targetsName]
    where try folder.status(of: name)?.kind == .link {
      let path = folder.path(of: name)
      throw ContentError(
        .fileSystemUnsupported, "\(path) is a symbolic link, which a store does not follow",
        remedy: "Put the folder itself there. If it is on another disk, mount it there, such as "
          + "with mount --bind", subject: path)
    }
  }

  /// Opens `targets`; a copy by git lacks it while it is empty, so it is created.
  func targetsFolder() throws -> Directory { try folder.createServedDirectory(Self.targetsName) }

  /// Does `body` with the verified metadata, while no other publisher writes the store.
  func writing<Value>(_ now: Date, _ body: (StoreMetadata, MetadataWriter) throws -> Value) throws
    -> Value
  {
    try whileLocked(now) { record, writer in
      let metadata = try StoreMetadata(
        reading: writer.folder, record, restored: isRestored, keys: writer.keys)
      if metadata.record != record { try writer.state.save(metadata.record) }
      return try body(metadata, writer)
    }
  }

  /// Does `body` with the publication record, while no other publisher writes the store.
  func whileLocked<Value>(
    _ now: Date, _ body: (PublicationRecord?, MetadataWriter) throws -> Value
  ) throws -> Value {
    try checkKeysAreOutside()
    let keys = try keys()
    let state = try state(keys)
    return try state.whileLocked(folder) {
      let metadata = try folder.createServedDirectory(Self.metadataName)
      for folder in [metadata, try targetsFolder()] { try ServedFolder(folder).removeLeftover() }
      let writer = MetadataWriter(folder: metadata, keys: keys, state: state, now: now)
      return try body(state.record(), writer)
    }
  }

  /// The publication record; nil where there is none, or where this process cannot read it.
  func knownRecord() throws -> PublicationRecord? {
    do {
      let state = try options.stateFolder.flatMap {
        try StoreKeys.opened($0, creating: false, folder.fileSystem)
      }
      if let record = try state.flatMap(StoreState.record) { return record }
      return try keysFolder().flatMap(StoreState.record)
    } catch let error as ContentError where error.code == .notPermitted {
      return nil
    }
  }

  /// Where the keys are, or are expected.
  package var keysPath: String {
    get throws {
      try options.folder ?? folder.fileSystem.directory(at: place.parent).path(of: keysName)
    }
  }

  func keys(creating: Bool = false) throws -> StoreKeys {
    guard let keys = try keysFolder(creating: creating) else {
      let path = try keysPath
      throw ContentError(
        .keyUnusable, "The store's keys are not in \(path)",
        remedy: "Put the folder that store init has made back in its place, or name it",
        subject: path)
    }
    return try StoreKeys(keys, options, creating: creating)
  }

  /// Where the publication record and the lock are; creates the folder.
  func state(_ keys: StoreKeys) throws -> StoreState {
    guard let path = options.stateFolder else {
      return StoreState(folder: keys.folder, keysFolder: keys.folder)
    }
    let fileSystem = folder.fileSystem
    let existing = try StoreKeys.opened(path, creating: false, fileSystem)
    guard let state = try existing ?? StoreKeys.opened(path, creating: true, fileSystem) else {
      throw ContentError(.inconsistent, "\(path) was not created", remedy: "Report it")
    }
    return StoreState(folder: state, keysFolder: keys.folder)
  }

  private var keysName: String { "\(place.name).keys" }

  private func keysFolder(creating: Bool = false) throws -> Directory? {
    if let path = options.folder {
      return try StoreKeys.opened(path, creating: creating, folder.fileSystem)
    }
    let parent = try folder.fileSystem.directory(at: place.parent)
    if creating { return try parent.createDirectory(keysName, mode: 0o700) }
    return try parent.status(of: keysName) == nil ? nil : parent.directory(keysName)
  }

  /// Refuses folders of keys, or of the publication record, inside of what is served.
  func checkKeysAreOutside() throws {
    let paths = [options.folder, options.rootFolder, options.stateFolder].compactMap { $0 }
    for path in paths where RealPath.of(path).isInside(RealPath.of(folder.path)) {
      throw ContentError(
        .usage, "The keys' or state folder \(path) is inside the store, which everybody can read",
        remedy: "Name a folder that no web server serves", subject: path)
    }
  }

  /// The keys have signed another store, or this one before its files were lost.
  func keysTaken(_ keys: StoreKeys) -> ContentError {
    ContentError(
      .usage, "The keys in \(keys.folder.path) have signed a store already",
      remedy: "Put that store's files back from a copy, or give the new store a folder of its own",
      subject: keys.folder.path)
  }
}

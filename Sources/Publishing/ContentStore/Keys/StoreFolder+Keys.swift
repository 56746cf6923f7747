import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials

/// Access to the store's metadata, its keys and its publication record.
extension StoreFolder {
  var metadataFolder: Directory { get throws { try folder.directory(Self.metadataName) } }

  /// Throws if one of the folders is a symbolic link.
  ///
  /// Publishers and local clients do not follow links, so a link cannot redirect writes to another
  /// place.
  func checkNoLinks() throws {
    for name in [Self.metadataName, Self.targetsName]
    where try folder.status(of: name)?.kind == .link {
      let path = folder.path(of: name)
      throw ContentError(
        .fileSystemUnsupported, "\(path) is a symbolic link, which a store does not follow",
        remedy: "Replace the link with the folder. If it is on another disk, mount it, for example "
          + "with mount --bind", subject: path)
    }
  }

  /// Opens `targets`, and creates it if needed: a git copy does not contain an empty folder.
  func targetsFolder() throws -> Directory { try folder.createServedDirectory(Self.targetsName) }

  /// The verified metadata, for a reader without keys; with `restored`, it may be older than
  /// recorded.
  func readMetadata(restored: Bool = false) throws -> StoreMetadata {
    try StoreMetadata(
      reading: folder, knownRecord(), restored: isRestored || restored, keys: nil)
  }

  /// Runs `body` with the verified metadata, while the store is locked for other publishers.
  ///
  /// With `restored`, the files may be older than recorded.
  func writing<Value>(
    _ now: Date, restored: Bool = false, _ body: (StoreMetadata, MetadataWriter) throws -> Value
  ) throws -> Value {
    try whileLocked(now) { record, writer in
      let metadata = try StoreMetadata(
        reading: folder, record, restored: isRestored || restored, keys: writer.keys)
      if metadata.record != record { try writer.state.save(metadata.record) }
      if rehearsal == nil { try metadata.postponeLaterSnapshots(writer) }
      do {
        return try body(metadata, writer)
      } catch let error as ContentError where error.code == .storeMissing {
        // Name a lost bin as a publisher knows it.
        guard let path = error.subject, path.hasPrefix("\(Self.metadataName)/") else { throw error }
        throw ContentError.metadataLost(folder.path(of: path), error)
      }
    }
  }

  /// Runs `body` with the publication record, while the store is locked for other publishers.
  func whileLocked<Value>(
    _ now: Date, _ body: (PublicationRecord?, MetadataWriter) throws -> Value
  ) throws -> Value {
    try MetadataWriter.check(now)
    try checkKeysAreOutside()
    let keys = try keys()
    let state = try state(keys)
    return try state.whileLocked(folder) {
      let writer = MetadataWriter(folder: try preparedMetadataFolder(), state: state, now: now)
      return try body(state.record(), writer)
    }
  }

  /// Opens `metadata`, and removes what an interrupted publication has left in both folders.
  private func preparedMetadataFolder() throws -> Directory {
    guard rehearsal == nil else { return try metadataFolder }
    let metadata = try folder.createServedDirectory(Self.metadataName)
    for folder in [metadata, try targetsFolder()] { try folder.removeLeftover() }
    return metadata
  }

  /// The publication record; nil if it does not exist or this process cannot read it.
  func knownRecord() throws -> PublicationRecord? {
    try nilIf(.notPermitted) {
      let state = try options.stateFolderPath.flatMap {
        try StoreKeys.opened($0, folder.fileSystem)
      }
      if let record = try state.flatMap(StoreState.record) { return record }
      return try keysFolder().flatMap(StoreState.record)
    }
  }

  /// The actual or expected path of the keys.
  package var keysPath: String {
    get throws {
      try options.folderPath ?? folder.fileSystem.directory(at: place.parent).path(of: keysName)
    }
  }

  func keys(creating: Bool = false) throws -> StoreKeys {
    guard let keys = try keysFolder(creating: creating) else {
      let path = try keysPath
      throw ContentError(
        .keyUnusable, "The store's keys are not in \(path)",
        remedy: "Restore the keys folder that was created with the store, or specify its path",
        subject: path)
    }
    return try StoreKeys(keys, options, creating: creating, rehearsal: rehearsal)
  }

  /// The keys, for a reader; nil if they do not exist or this process cannot read them.
  func readableKeys() throws -> StoreKeys? {
    try nilIf(.notPermitted) {
      try keysFolder().map {
        try StoreKeys($0, options, creating: false, protecting: false)
      }
    }
  }

  /// Returns the folder of the publication record and the lock; creates the folder.
  func state(_ keys: StoreKeys) throws -> StoreState {
    var state = StoreState(folder: keys.folder, keys: keys)
    guard let path = options.stateFolderPath else { return state }
    if let existing = try StoreKeys.opened(path, folder.fileSystem) {
      state.folder = existing
    } else if rehearsal == nil {
      state.folder = try StoreKeys.created(path, folder.fileSystem)
    } else {
      state.newFolder = path
    }
    return state
  }

  private var keysName: String { "\(place.name).keys" }

  private func keysFolder(creating: Bool = false) throws -> Directory? {
    let fileSystem = folder.fileSystem
    if let path = options.folderPath {
      return try creating
        ? StoreKeys.created(path, fileSystem) : StoreKeys.opened(path, fileSystem)
    }
    let parent = try fileSystem.directory(at: place.parent)
    return try StoreKeys.opened(keysName, in: parent, creating: creating)
  }

  /// Throws `usage` if the folder of the keys or of the publication record is in the served folder.
  func checkKeysAreOutside() throws {
    let paths = [options.folderPath, options.rootFolderPath, options.stateFolderPath]
    let store = realComponents(folder.path)
    for path in paths.compactMap(\.self) where realComponents(path).starts(with: store) {
      throw ContentError(
        .usage, "The keys or state folder \(path) is inside the store, which is public",
        remedy: "Use a folder that no web server serves", subject: path)
    }
  }

  /// The keys have signed another store, or this store before its files were lost.
  func keysInUse(_ keys: StoreKeys) -> ContentError {
    ContentError(
      .usage, "The keys in \(keys.folder.path) already belong to a store",
      remedy: "Restore that store's files from a copy, or use another keys folder",
      subject: keys.folder.path)
  }
}

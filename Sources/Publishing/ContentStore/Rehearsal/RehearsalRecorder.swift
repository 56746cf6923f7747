import HostedConcurrency
import HostedModel
import HostedPackage
import HostedTrust
import HostedFileIO

/// Collects what the changes of a rehearsal would write, remove and publish.
///
/// Code that writes files adds them here instead. Thread-safe.
final class RehearsalRecorder: Sendable {
  /// The file system of the store, for temporary files outside of the store.
  let fileSystem: FileSystem
  /// The path of the store's folder, with a slash.
  private let store: String
  private let state = Mutex(State())

  private struct State {
    /// Everything except the files that would be written.
    var result = StoreRehearsal()
    /// The files that would be written, by path, with the numbers of their last writes.
    var files: [String: (number: Int, file: StoreRehearsal.File)] = [:]
    var writes = 0
    /// The new keys, which are only in memory.
    var keys: [RoleName: [SigningKey]] = [:]
    var indexes: [Digest: PackageIndex] = [:]
  }

  init(_ folder: Directory) {
    fileSystem = folder.fileSystem
    store = folder.path(of: "")
  }

  var result: StoreRehearsal {
    state.withLock { state in
      var result = state.result
      result.files = state.files.values.sorted { $0.number < $1.number }.map { $0.file }
      return result
    }
  }

  // MARK: Files

  /// Adds the file `name` with `bytes` bytes, in `folder` or in the folders `path` below it, which
  /// need not exist.
  ///
  /// Throws the error of writing it without permission.
  func write(
    _ kind: StoreRehearsal.File.Kind, _ name: String, in path: [String] = [], of folder: Directory,
    bytes: Int64
  ) throws {
    // The file is written in the first folder, and then moved to the last one.
    var (first, last) = (folder, folder)
    var rest = path[...]
    while let next = rest.first, try last.status(of: next) != nil {
      last = try last.directory(next)
      if rest.count == path.count { first = last }
      rest.removeFirst()
    }
    if let new = rest.first { try last.checkMayChange(new, .createDirectory) }
    try first.checkMayChange(kind.isServed ? Directory.leftoverName : ".\(name).new")
    if rest.isEmpty { try last.checkMayChange(name, .rename) }
    add(kind, folder.path(of: (path + [name]).joined(separator: "/")), bytes)
  }

  /// Adds the file `name` in a new folder; throws the error of creating it without permission.
  func write(
    _ kind: StoreRehearsal.File.Kind, _ name: String, inNewFolder path: String, bytes: Int64
  ) throws {
    var place = try FolderPlace(path)
    while !FolderPlace.exists(place.parent) { place = try FolderPlace(place.parent) }
    try fileSystem.directory(at: place.parent).checkMayChange(place.name, .createDirectory)
    add(kind, "\(path)/\(name)", bytes)
  }

  private func add(_ kind: StoreRehearsal.File.Kind, _ path: String, _ bytes: Int64) {
    let file = StoreRehearsal.File(kind: kind, path: shortened(path), bytes: bytes)
    state.withLock { state in
      // Only the last bytes of a file that is written twice stay.
      state.files[file.path] = (state.writes, file)
      state.writes += 1
    }
  }

  /// Adds the file `name` of `folder` to the removed ones, unless it would be written before.
  ///
  /// Throws the error of removing it without permission.
  func remove(_ kind: StoreRehearsal.File.Kind, _ name: String, in folder: Directory) throws {
    let path = shortened(folder.path(of: name))
    let isWritten = state.withLock { $0.files[path] != nil }
    guard !isWritten, let bytes = try folder.status(of: name)?.size else { return }
    try folder.checkMayChange(name, .remove)
    let file = StoreRehearsal.File(kind: kind, path: path, bytes: bytes)
    state.withLock { $0.result.removedFiles.append(file) }
  }

  private func shortened(_ path: String) -> String {
    path.hasPrefix(store) ? String(path.dropFirst(store.count)) : path
  }

  // MARK: Keys

  /// Adds a new key, which signs in this rehearsal.
  func add(_ key: SigningKey, of role: RoleName) {
    state.withLock { $0.keys[role, default: []].append(key) }
  }

  func keys(of role: RoleName) -> [SigningKey] { state.withLock { $0.keys[role] ?? [] } }

  // MARK: The catalog

  func add(_ index: PackageIndex, of package: Digest) {
    state.withLock { $0.indexes[package] = index }
  }

  /// Adds the difference between the records `old` and `new`, and the updates to new versions.
  ///
  /// `folder` is the store.
  func add(from old: CatalogRecord?, to new: CatalogRecord, in folder: Directory) throws {
    guard let change = CatalogChange(from: old, to: new) else { return }
    let indexes = state.withLock { $0.indexes }
    let updates = try new.updates(from: old, indexes, in: folder)
    state.withLock {
      $0.result.changes.append(change)
      $0.result.updates += updates
    }
  }
}

extension StoreRehearsal.File.Kind {
  fileprivate var isServed: Bool {
    switch self {
    case .archive, .index, .record, .metadata: true
    case .key, .publicationRecord: false
    }
  }
}

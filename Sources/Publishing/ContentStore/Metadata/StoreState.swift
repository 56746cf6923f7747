import HostedModel
import HostedTrust
import HostedFileIO

/// The folder of the publication record and the publishers' lock.
struct StoreState {
  var folder: Directory
  /// The record in the keys' folder counts until `folder` has one.
  let keys: StoreKeys
  /// The path at which a real change would create the folder; only in a rehearsal.
  var newFolder: String?

  private static let recordName = "published.json"
  private static let lockName = "lock"

  /// Runs `body` while no other process or thread can publish to `store`.
  ///
  /// Throws `storeLocked` if one does. Locks the record, because copies of a store can share it,
  /// and the store itself, because publishers with different records can share a store.
  func whileLocked<Value>(_ store: Directory, _ body: () throws -> Value) throws -> Value {
    if newFolder == nil {
      try folder.protect()
      try folder.protect(Self.recordName)
    }
    guard keys.rehearsal == nil else {
      try checkUnlocked(store)
      return try body()
    }
    let lock = try Self.withRemedy { try folder.updatedFile(Self.lockName, mode: 0o600) }
    guard try lock.tryLock() else { throw Self.locked(store) }
    defer { lock.unlock() }
    // The lock uses its own descriptor, which is closed at the end.
    let store = try store.reopened()
    guard try store.tryLock(alone: true) else { throw Self.locked(store) }
    defer { withExtendedLifetime(store) {} }
    return try body()
  }

  /// Throws what `whileLocked` throws, but keeps no lock.
  ///
  /// A rehearsal must not keep others from publishing. Like a client, it reads the timestamp first,
  /// and the files that it names do not change.
  private func checkUnlocked(_ store: Directory) throws {
    if newFolder == nil { try checkLockFile(store) }
    let store = try store.reopened()
    guard try store.tryLock(alone: true) else { throw Self.locked(store) }
    withExtendedLifetime(store) {}
  }

  private func checkLockFile(_ store: Directory) throws {
    guard try folder.status(of: Self.lockName) != nil else {
      return try Self.withRemedy { try folder.checkMayChange(Self.lockName) }
    }
    try Self.withRemedy { try folder.checkMayWrite(Self.lockName) }
    let lock = try folder.file(Self.lockName)
    guard try lock.tryLock() else { throw Self.locked(store) }
    lock.unlock()
  }

  private static func locked(_ store: Directory) -> ContentError {
    ContentError(
      .storeLocked, "Another process is publishing to the store \(store.path)",
      remedy: "Wait until it has finished, then try again", subject: store.path)
  }

  private static func withRemedy<Value: ~Copyable>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as ContentError where error.code == .notPermitted {
      throw ContentError(
        error.code, error.message,
        remedy: "Give this user write permission there, or specify a state folder",
        subject: error.subject, cause: error.cause)
    }
  }

  /// The record; nil if no version that keeps one has written the store.
  func record() throws -> PublicationRecord? {
    try Self.record(in: folder) ?? Self.record(in: keys.folder)
  }

  static func record(in folder: Directory) throws -> PublicationRecord? {
    guard try folder.status(of: recordName) != nil else { return nil }
    let bytes = try folder.contents(of: recordName, limit: 64 << 10)
    let json = try? JSONValue(parsing: bytes)
    guard let record = json.flatMap(PublicationRecord.init(json:)) else {
      let path = folder.path(of: recordName)
      throw ContentError(
        .storeDamaged, "Cannot read the publication record \(path)",
        remedy: "Restore it from a copy. Without a copy, check that the store has what its clients "
          + "see, then remove this file: the next publication creates a new one from the store",
        subject: path)
    }
    return record
  }

  /// Writes the record; the write is durable.
  func save(_ record: PublicationRecord) throws {
    let bytes = record.json.encoded
    guard let rehearsal = keys.rehearsal else {
      return try folder.replaceFile(Self.recordName, with: bytes, mode: 0o600)
    }
    let length = Int64(bytes.count)
    if let newFolder {
      try rehearsal.write(
        .publicationRecord, Self.recordName, inNewFolder: newFolder, bytes: length)
    } else {
      try rehearsal.write(.publicationRecord, Self.recordName, of: folder, bytes: length)
    }
  }
}

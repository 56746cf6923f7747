import ContentModel
import ContentTrust
import FileIO

/// The folder of the publication record and the publishers' lock.
struct StoreState {
  let folder: Directory
  /// The keys' folder.
  ///
  /// Its record counts until `folder` has one.
  let keysFolder: Directory

  private static let recordName = "published.json"

  /// Runs `body` while no other process or thread can publish to `store`.
  ///
  /// Throws `storeLocked` if one does. Locks the record, because copies of a store can share it,
  /// and the store itself, because publishers with different records can share a store.
  func whileLocked<Value>(_ store: Directory, _ body: () throws -> Value) throws -> Value {
    try folder.protect()
    try folder.protect(Self.recordName)
    let lock = try lockFile()
    guard try lock.tryLock() else { throw Self.locked(store) }
    defer { lock.unlock() }
    // The lock uses its own descriptor, which is closed at the end.
    let store = try store.reopened()
    guard try store.tryLock(alone: true) else { throw Self.locked(store) }
    defer { withExtendedLifetime(store) {} }
    return try body()
  }

  private static func locked(_ store: Directory) -> ContentError {
    ContentError(
      .storeLocked, "Another process is publishing to the store \(store.path)",
      remedy: "Wait until it has finished, then try again", subject: store.path)
  }

  private func lockFile() throws -> File {
    do {
      return try folder.updatedFile("lock", mode: 0o600)
    } catch let error as ContentError where error.code == .notPermitted {
      throw ContentError(
        error.code, error.message,
        remedy: "Give this user write permission there, or specify a state folder",
        subject: error.subject, cause: error.cause)
    }
  }

  /// The record; nil if no version that keeps one has written the store.
  func record() throws -> PublicationRecord? {
    try Self.record(in: folder) ?? Self.record(in: keysFolder)
  }

  /// The record in `folder`; nil if it does not exist.
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

  /// Writes the record.
  ///
  /// The write is durable.
  func save(_ record: PublicationRecord) throws {
    try folder.replaceFile(Self.recordName, with: record.json.encoded, mode: 0o600)
  }
}

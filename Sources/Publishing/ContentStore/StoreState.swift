import ContentModel
import ContentTrust
import FileIO

/// The folder that keeps the publication record and the lock of a store's publishers.
struct StoreState {
  let folder: Directory
  /// The keys' folder, whose record counts until `folder` has one.
  let keysFolder: Directory

  private static let recordName = "published.json"

  /// Does `body` while no other process or thread publishes to `store`; `storeLocked` when one
  /// does.
  ///
  /// Locks the record, which copies of a store can share, and the store itself, since publishers
  /// with different records can share a store.
  func whileLocked<Value>(_ store: Directory, _ body: () throws -> Value) throws -> Value {
    try folder.protect()
    try folder.protect(Self.recordName)
    let lock = try lockFile()
    guard try lock.tryLock() else { throw Self.locked(store) }
    defer { lock.unlock() }
    // Locked through a descriptor of its own, which is closed at the end.
    let store = try store.reopened()
    guard try store.tryLock(alone: true) else { throw Self.locked(store) }
    defer { withExtendedLifetime(store) {} }
    return try body()
  }

  private static func locked(_ store: Directory) -> ContentError {
    ContentError(
      .storeLocked, "Another process is publishing to the store \(store.path)",
      remedy: "Wait until it is done and start again", subject: store.path)
  }

  private func lockFile() throws -> File {
    do {
      return try folder.updatedFile("lock", mode: 0o600)
    } catch let error as ContentError where error.code == .notPermitted {
      throw ContentError(
        error.code, error.message,
        remedy: "Give this user the right to write there, or name a state folder",
        subject: error.subject, cause: error.cause)
    }
  }

  /// The record; nil if the store has been written by no version that keeps one.
  func record() throws -> PublicationRecord? {
    try Self.record(in: folder) ?? Self.record(in: keysFolder)
  }

  /// The record in `folder`; nil if there is none.
  static func record(in folder: Directory) throws -> PublicationRecord? {
    guard try folder.status(of: recordName) != nil else { return nil }
    let bytes = try folder.contents(of: recordName, limit: 64 << 10)
    let json = try? JSONValue(parsing: bytes)
    guard let record = json.flatMap(PublicationRecord.init(json:)) else {
      let path = folder.path(of: recordName)
      throw ContentError(
        .storeDamaged, "The publication record \(path) cannot be read",
        remedy: "Put it back from a copy. Without one, check that the store has what its clients "
          + "see, and remove this file: the next publication makes a new one from the store",
        subject: path)
    }
    return record
  }

  /// Writes the record durably.
  func save(_ record: PublicationRecord) throws {
    try folder.replaceFile(Self.recordName, with: record.json.encoded, mode: 0o600)
  }
}

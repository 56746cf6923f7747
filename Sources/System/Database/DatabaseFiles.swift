package import HostedFileIO
import HostedModel

/// The files of a database.
extension Directory {
  /// The ends of their names.
  private static let suffixes = ["", "-journal", "-wal", "-shm"]

  /// Removes the permissions of other users from the files of the database `name`.
  package func makePrivate(database name: String) throws {
    for suffix in Self.suffixes { try makePrivate(name + suffix) }
  }

  /// Removes the files of the database `name`.
  package func remove(database name: String) throws {
    for suffix in Self.suffixes { try removeFile(name + suffix) }
  }

  /// Makes the commits durable that a connection has found in the log of the database `name`.
  ///
  /// A process that was killed during a sync leaves commits in the page cache only. They are read
  /// like all others, but a power failure would undo them. Call it after a connection has read the
  /// log, and before what it contains is used.
  package func syncLog(ofDatabase name: String) throws {
    let log = "\(name)-wal"
    guard let status = try status(of: log), status.size > 0 else { return }
    // SQLite has no locks on this file, which closing it here would release.
    try file(log).sync()
    try sync()
  }

  /// Calls `body`, which writes a database in this folder.
  ///
  /// If space is missing, the error says how much is free.
  package func explainingSpace<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as ContentError where error.code == .diskFull {
      guard let free = try? availableBytes() else { throw error }
      // One page and its header in the log is the minimum. Only SQLite knows the actual number.
      throw ContentError(
        .diskFull, "\(error.message): it needs at least 8192 bytes more, where \(free) are free",
        remedy: error.remedy, subject: error.subject, cause: error.cause)
    }
  }
}

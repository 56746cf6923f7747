import ContentModel
package import FileIO
import Glibc

/// Reads a flat file of Apple's Enterprise Partner Feed from front to back, in constant memory.
///
/// Fields are separated by the byte 0x01 and end with 0x02 and a line feed; lines that begin with #
/// are headers and legal texts. Source: Enterprise Partner Feed, flat file format.
public struct PartnerFeed: Sendable {
  /// What a reading found out about the file as a whole.
  public struct Summary: Hashable, Sendable {
    /// The names of the columns; empty when no header line names them.
    public internal(set) var columns: [String] = []
    /// Rows that were read.
    public internal(set) var rows = 0
    /// Bytes that were read.
    public internal(set) var bytes: Int64 = 0
    /// The rows that the file's last line says there are; nil when it says nothing.
    public internal(set) var recordsWritten: Int?
    /// Whether all rows were read, rather than only those before the reader had enough.
    public internal(set) var isComplete = false
  }

  /// The most bytes of one row.
  ///
  /// Longer ones are no feed.
  package static let rowLimit = 4 << 20

  private let path: String
  private let fileSystem: FileSystem
  private let chunk: Int

  /// A feed in the file at `path`, which is not opened yet.
  public init(path: String) { self.init(path: path, fileSystem: .real) }

  package init(path: String, fileSystem: FileSystem, chunk: Int = 1 << 20) {
    self.path = path
    self.fileSystem = fileSystem
    self.chunk = max(1, chunk)
  }

  /// Hands each row to `body` until it returns false; blocks the thread.
  ///
  /// A row is valid during the call only. Throws file errors, and `feedDamaged` when the file
  /// breaks off in a row, has a row of more than 4 MiB, or has another number of rows than it says.
  public func forEachRow(_ body: (FeedRow) throws -> Bool) throws -> Summary {
    let file = try fileSystem.file(at: path)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
    defer { buffer.deallocate() }
    var rows = FeedRows(path: path, limit: Self.rowLimit)
    var offset: Int64 = 0
    while true {
      let count = try file.read(into: buffer, at: offset)
      if count == 0 { break }
      offset += Int64(count)
      if try !rows.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), body) {
        return rows.summary(bytes: offset, isComplete: false)
      }
    }
    try rows.finish()
    return rows.summary(bytes: offset, isComplete: true)
  }

  /// The rows whose `column` is one of `values`, as texts by column, in one pass; blocks the
  /// thread.
  ///
  /// It stops once each value was found, unless `takesAll`. Throws as `forEachRow` does, and
  /// `feedDamaged` when there is no such column.
  public func rows(where column: String, isIn values: Set<String>, takesAll: Bool = false) throws
    -> [[String: String]]
  {
    let wanted = values.map { Array($0.utf8) }
    var found: [[String: String]] = []
    var missing = values
    _ = try forEachRow { row in
      guard let index = row.columns.firstIndex(of: column) else {
        throw ContentError.feedDamaged(path, "has no column “\(column)”")
      }
      let field = row.field(index)
      guard let match = wanted.first(where: { field.elementsEqual($0) }) else { return true }
      found.append(row.texts)
      missing.remove(String(decoding: match, as: UTF8.self))
      return takesAll || !missing.isEmpty
    }
    return found
  }
}

extension ContentError {
  static func feedDamaged(_ path: String, _ what: String) -> ContentError {
    ContentError(
      .feedDamaged, "The feed \(path) \(what)", remedy: "Download the feed again", subject: path)
  }
}

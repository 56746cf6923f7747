import HostedModel
package import HostedFileIO
public import FoundationEssentials

/// Reads a flat file of Apple's Enterprise Partner Feed sequentially, in constant memory.
///
/// Fields are separated by the byte 0x01. Rows end with 0x02 and a line feed. Lines that begin with
/// # are headers and legal texts. Source: Enterprise Partner Feed, flat file format. Calls block;
/// in a task, use them in `performBlocking`.
public struct PartnerFeed: Sendable {
  /// A summary of the file after reading.
  public struct Summary: Hashable, Sendable {
    /// The names of the columns; empty without a header line.
    public internal(set) var columns: [String] = []
    /// The number of rows read.
    public internal(set) var rowCount = 0
    /// The number of bytes read.
    public internal(set) var byteCount: Int64 = 0
    /// The number of rows according to the file's last line; nil if it has none.
    public internal(set) var recordsWritten: Int?
    /// Whether all rows were read.
    ///
    /// False if `body` stopped early.
    public internal(set) var isComplete = false
  }

  /// The maximum length of a row in bytes; a file with longer rows is not a feed.
  package static let rowLimit = 4 << 20

  private let path: String
  private let fileSystem: FileSystem
  private let chunk: Int

  /// Creates a feed for a file without opening it.
  ///
  /// Throws `usage` if `url` is not a file URL.
  public init(url: URL) throws { self.init(path: try url.filePath(of: "feed")) }

  package init(path: String, fileSystem: FileSystem = .real, chunk: Int = 1 << 20) {
    self.path = path
    self.fileSystem = fileSystem
    self.chunk = max(1, chunk)
  }

  /// Calls `body` with each row until it returns false.
  ///
  /// Blocks the thread. A row is only valid during the call. Throws the errors of `body`, file
  /// errors, and `feedDamaged` if the file ends in the middle of a row, has a row of more than
  /// 4 MiB, or does not have the recorded number of rows.
  public func forEachRow(_ body: (FeedRow) throws -> Bool) throws -> Summary {
    let file = try fileSystem.file(at: path)
    // Has an incomplete row, the first byte of its terminator, and the next chunk.
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.rowLimit + 1 + chunk, alignment: 16)
    defer { buffer.deallocate() }
    var rows = FeedRows(path: path, limit: Self.rowLimit)
    var rest = 0
    while true {
      let free = UnsafeMutableRawBufferPointer(rebasing: buffer[rest..<rest + chunk])
      let count = try file.read(into: free, at: rows.summary.byteCount)
      if count == 0 { break }
      rows.summary.byteCount += Int64(count)
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<(rest + count)])
      guard let taken = try rows.take(bytes, body) else { return rows.summary }
      rest = bytes.count - taken
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken...]))
    }
    try rows.finish(rest: rest)
    return rows.summary
  }

  /// Returns the rows whose `column` has one of `values`, as text by column.
  ///
  /// Blocks the thread. It reads the file once. It stops when each value was found, or reads the
  /// whole file with `findsAllRows`. Throws like `forEachRow`, and `feedDamaged` if the column does
  /// not exist.
  public func rows(
    where column: String, isIn values: Set<String>, findsAllRows: Bool = false
  ) throws -> [[String: String]] {
    var found: [[String: String]] = []
    var missing = values
    let withoutColumn = ContentError.feedDamaged(path, "has no column “\(column)”")
    let summary = try forEachRow { row in
      guard let index = row.columns.firstIndex(of: column) else { throw withoutColumn }
      let value = String(decoding: row.field(at: index), as: UTF8.self)
      if values.contains(value) {
        found.append(row.textsByColumn)
        missing.remove(value)
      }
      return findsAllRows || !missing.isEmpty
    }
    // A feed of changes may have no rows.
    guard summary.columns.contains(column) else { throw withoutColumn }
    return found
  }
}

extension ContentError {
  static func feedDamaged(_ path: String, _ what: String) -> ContentError {
    ContentError(
      .feedDamaged, "The feed \(path) \(what)", remedy: "Download the feed again", subject: path)
  }
}

public import FoundationEssentials
import Glibc
package import HostedFileIO

/// Reads a flat file of Apple's Enterprise Partner Feed sequentially, in constant memory.
///
/// Fields are separated by the byte 0x01. Rows end with 0x02 and a line feed. Lines that begin with
/// # are headers and legal texts. Source: Enterprise Partner Feed, flat file format. Calls block;
/// in a task, use them in `performBlocking`.
public struct PartnerFeed: Sendable {
  /// A summary of the file after reading.
  public struct Summary: Hashable, Sendable, CustomStringConvertible {
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

    /// The numbers of rows and bytes, such as `2 rows, 310 bytes, complete`.
    public var description: String {
      "\(rowCount) rows, \(byteCount) bytes, \(isComplete ? "complete" : "incomplete")"
    }
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

/// A row of a feed.
///
/// It is only valid during the call that receives it.
public struct FeedRow {
  /// The names of the columns; empty without a header line.
  public let columns: [String]
  private let bytes: UnsafeRawBufferPointer

  init(columns: [String], bytes: UnsafeRawBufferPointer) {
    self.columns = columns
    self.bytes = bytes
  }

  /// Returns the bytes of a field, counted from 0; empty if the row has fewer fields.
  ///
  /// The bytes are only valid during the call that receives the row.
  package func field(at index: Int) -> UnsafeRawBufferPointer {
    var start = 0
    for _ in 0..<index { start += field(from: start).count + 1 }
    return field(from: start)
  }

  /// Returns the bytes of the field that begins at `start`; empty after the end of the row.
  private func field(from start: Int) -> UnsafeRawBufferPointer {
    let end = bytes.firstIndex(of: 0x01, from: start) ?? bytes.count
    return UnsafeRawBufferPointer(rebasing: bytes[min(start, end)..<end])
  }

  /// The fields as text by column.
  ///
  /// A missing field is empty, and a field without a column is omitted.
  public var textsByColumn: [String: String] {
    var texts: [String: String] = [:]
    var start = 0
    for column in columns {
      let bytes = field(from: start)
      texts[column] = String(decoding: bytes, as: UTF8.self)
      start += bytes.count + 1
    }
    return texts
  }
}

/// Splits the bytes of a feed into rows.
package struct FeedRows {
  private let path: String
  private let limit: Int
  var summary = PartnerFeed.Summary()

  /// `path` is for error messages.
  ///
  /// Rows longer than `limit` bytes are refused.
  package init(path: String, limit: Int) {
    self.path = path
    self.limit = limit
  }

  /// Processes the complete rows of `bytes`, and returns their length; nil if `body` stops.
  ///
  /// The next call begins with the bytes after them.
  package mutating func take(
    _ bytes: UnsafeRawBufferPointer, _ body: (FeedRow) throws -> Bool
  ) throws -> Int? {
    var start = 0
    while let end = bytes.endOfRow(from: start) {
      try check(end - start)
      let row = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
      guard try handle(row, body) else { return nil }
      start = end + 2
    }
    // The last byte may be the first half of the terminator, which does not belong to the row.
    try check(bytes.count - start - (bytes.last == 0x02 ? 1 : 0))
    return start
  }

  /// Checks conditions that are only known at the end of the file, which has `rest` more bytes.
  package mutating func finish(rest: Int) throws {
    guard rest == 0 else { throw ContentError.feedDamaged(path, "ends in the middle of a row") }
    if let written = summary.recordsWritten, written != summary.rowCount {
      throw ContentError.feedDamaged(path, "has \(summary.rowCount) rows, expected \(written)")
    }
    summary.isComplete = true
  }

  private func check(_ count: Int) throws {
    guard count <= limit else {
      throw ContentError.feedDamaged(path, "has a row of more than \(limit) bytes")
    }
  }

  private mutating func handle(
    _ bytes: UnsafeRawBufferPointer, _ body: (FeedRow) throws -> Bool
  ) throws -> Bool {
    guard bytes.first == UInt8(ascii: "#") else {
      summary.rowCount += 1
      return try body(FeedRow(columns: summary.columns, bytes: bytes))
    }
    readHeader(String(decoding: bytes.dropFirst(), as: UTF8.self))
    return true
  }

  /// The first header line has the column names; the last has `recordsWritten`.
  private mutating func readHeader(_ line: String) {
    if line.hasPrefix("recordsWritten:") {
      summary.recordsWritten = Int(line.dropFirst("recordsWritten:".count))
    } else if summary.columns.isEmpty, !line.hasPrefix("#") {
      summary.columns = line.split(separator: "\u{01}", omittingEmptySubsequences: false)
        .map(String.init)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The index of the next `byte`, found with the C library's vectorized search.
  fileprivate func firstIndex(of byte: UInt8, from start: Int) -> Int? {
    guard let base = baseAddress, start < count,
      let found = memchr(base + start, Int32(byte), count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// The end of the next row: 0x02 followed by a line feed.
  fileprivate func endOfRow(from start: Int) -> Int? {
    var start = start
    while let end = firstIndex(of: 0x02, from: start), end + 1 < count {
      if self[end + 1] == 0x0a { return end }
      start = end + 1
    }
    return nil
  }
}

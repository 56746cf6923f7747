import Glibc

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

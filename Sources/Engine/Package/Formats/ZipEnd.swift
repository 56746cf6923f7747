import HostedModel

/// The end records of a zip archive, which locate its directory.
struct ZipEnd {
  /// The number of entries in the directory; then its offset and its length, in bytes.
  let count: UInt64
  let directoryOffset: UInt64
  let length: UInt64

  private static let recordLength = 22
  private static let locatorLength = 20

  /// Finds the end record; throws a finding if it does not end at the end of the archive.
  init(_ source: any ByteSource) throws {
    let tailStart = UInt64(max(0, source.length - Int64(Self.recordLength + 0xffff)))
    let tail = try source.bytes(at: tailStart, count: Self.recordLength + 0xffff)
    let last = tail.indices.dropLast(Self.recordLength - 1).last {
      tail[$0] == 0x50 && tail[$0...].starts(with: [0x50, 0x4b, 5, 6])
    }
    guard let last else { throw ZipDirectory.refused("has no end record") }
    let record = tail[last...]
    guard record.count == Self.recordLength + Int(record.littleEndian(20, 2)) else {
      throw ZipDirectory.refused("has extra bytes after its end")
    }
    let here = Values(record, at: 8, width: 2)
    guard record.littleEndian(4, 4) == 0, here.countHere == here.count else {
      throw ZipDirectory.refused("is one part of a multi-part archive")
    }
    var values = here
    var start = tailStart + UInt64(last)
    let locator = try start < 20 ? [] : source.bytes(at: start - 20, count: Self.locatorLength)
    if locator.starts(with: [0x50, 0x4b, 6, 7]) {
      let offset = locator.littleEndian(8, 8)
      values = try Self.large(source, at: offset, upTo: start - UInt64(Self.locatorLength))
      guard here.fits(values) else { throw ZipDirectory.refused("has two end records that differ") }
      start = offset
    }
    let (end, overflow) = values.offset.addingReportingOverflow(values.length)
    guard !overflow, end == start else {
      throw ZipDirectory.refused("has bytes between its directory and its end record")
    }
    (count, directoryOffset, length) = (values.count, values.offset, values.length)
  }

  /// The fields that both kinds of end records have, in this order.
  private struct Values {
    let countHere, count, length, offset: UInt64

    init(_ bytes: ArraySlice<UInt8>, at start: Int, width: Int) {
      let wide = width == 2 ? 4 : 8
      countHere = bytes.littleEndian(start, width)
      count = bytes.littleEndian(start + width, width)
      length = bytes.littleEndian(start + 2 * width, wide)
      offset = bytes.littleEndian(start + 2 * width + wide, wide)
    }

    /// Returns whether a 32-bit record matches a 64-bit one, or refers to it.
    func fits(_ large: Values) -> Bool {
      (count == large.count || count == 0xffff)
        && (length == large.length || length == 0xffff_ffff)
        && (offset == large.offset || offset == 0xffff_ffff)
    }
  }

  /// Reads the 64-bit end record, which must end at `end`.
  private static func large(_ source: any ByteSource, at offset: UInt64, upTo end: UInt64) throws
    -> Values
  {
    guard offset < end, end - offset >= 56, end - offset <= 4096 else {
      throw ZipDirectory.refused("has no zip64 end record at the offset in its locator")
    }
    let record = try source.bytes(at: offset, count: Int(end - offset))[...]
    guard record.starts(with: [0x50, 0x4b, 6, 6]), record.count == Int(end - offset),
      record.littleEndian(4, 8) == end - offset - 12, record.littleEndian(16, 8) == 0
    else { throw ZipDirectory.refused("has no zip64 end record at the offset in its locator") }
    let values = Values(record, at: 24, width: 8)
    guard values.countHere == values.count else {
      throw ZipDirectory.refused("is one part of a multi-part archive")
    }
    return values
  }
}

extension BidirectionalCollection<UInt8> {
  /// Returns the number in `width` bytes at `offset`; the bytes must exist.
  func littleEndian(_ offset: Int, _ width: Int) -> UInt64 {
    dropFirst(offset).prefix(width).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  func bigEndian(_ offset: Int, _ width: Int) -> UInt64 {
    dropFirst(offset).prefix(width).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension ArraySlice<UInt8> {
  /// Returns `count` bytes at `offset`, or fewer at the end.
  func part(_ offset: Int, _ count: Int) -> ArraySlice<UInt8> { dropFirst(offset).prefix(count) }
}

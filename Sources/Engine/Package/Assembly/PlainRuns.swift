import HostedCDeflate

/// The borrowed, decompressed bytes of a member, in one or several buffers.
struct PlainRuns {
  let runs: [UnsafeRawBufferPointer]

  init(_ bytes: UnsafeRawBufferPointer) { runs = [bytes] }

  private init(_ runs: [UnsafeRawBufferPointer]) { self.runs = runs }

  /// The total number of bytes.
  var count: Int { runs.reduce(0) { $0 + $1.count } }

  subscript(range: Range<Int>) -> PlainRuns {
    var start = 0
    var found: [UnsafeRawBufferPointer] = []
    for run in runs {
      let part = range.clamped(to: start..<(start + run.count))
      if !part.isEmpty {
        found.append(
          UnsafeRawBufferPointer(
            rebasing: run[(part.lowerBound - start)..<(part.upperBound - start)]))
      }
      start += run.count
    }
    return PlainRuns(found)
  }

  func prefix(_ limit: Int) -> [UInt8] { Array(runs.joined().prefix(limit)) }

  // MARK: Stored members

  /// Finds the bytes of a gzip member that only has stored blocks, without a copy.
  ///
  /// Returns nil for any other member, which then goes to the decoder. Data that do not compress
  /// need no copy this way.
  /// Source: RFC 1952 §2.3, RFC 1951 §3.2.4.
  init?(storedIn member: UnsafeRawBufferPointer, plainLength: Int) {
    // Header: magic, deflate, no optional fields, fixed length. Trailer: CRC-32 and length.
    let end = member.count - 8
    guard end >= 10, member.littleEndian(0, 4) == 0x00_08_8b_1f else { return nil }
    var runs: [UnsafeRawBufferPointer] = []
    var checksum: UInt32 = 0
    var count = 0
    var place = 10
    var isLast = false
    while !isLast {
      // Block header: last or not, stored, zero padding. Then the length and its complement.
      guard place + 5 <= end, member[place] <= 1 else { return nil }
      let length = Int(member.littleEndian(place + 1, 2))
      guard member.littleEndian(place + 3, 2) == 0xffff - UInt64(length),
        place + 5 + length <= end
      else { return nil }
      isLast = member[place] == 1
      let run = UnsafeRawBufferPointer(rebasing: member[(place + 5)..<(place + 5 + length)])
      checksum = libdeflate_crc32(checksum, run.baseAddress, run.count)
      runs.append(run)
      count += length
      place += 5 + length
    }
    guard place == end, count == plainLength, member.littleEndian(end, 4) == checksum,
      member.littleEndian(end + 4, 4) == UInt32(truncatingIfNeeded: count)
    else { return nil }
    self.runs = runs
  }
}

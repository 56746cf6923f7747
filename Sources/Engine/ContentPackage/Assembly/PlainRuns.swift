import CDeflate

/// Plain bytes of a member, in one piece or in several that lie apart; borrowed.
struct PlainRuns {
  /// The pieces, in order.
  let runs: [UnsafeRawBufferPointer]

  /// Takes bytes that lie together.
  init(_ bytes: UnsafeRawBufferPointer) { runs = [bytes] }

  private init(_ runs: [UnsafeRawBufferPointer]) { self.runs = runs }

  /// Bytes in all.
  var count: Int { runs.reduce(0) { $0 + $1.count } }

  /// A part of them.
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

  /// The first bytes, at most `limit`.
  func prefix(_ limit: Int) -> [UInt8] { Array(runs.joined().prefix(limit)) }

  // MARK: Stored members

  /// The plain bytes of a gzip member that stores them as they are, where they lie in it; nil for
  /// any other member, which is left to the decoder.
  ///
  /// Data that do not compress, which may be most of a package, need no copy then.
  /// Source: RFC 1952 §2.3, RFC 1951 §3.2.4.
  init?(storedIn member: UnsafeRawBufferPointer, plainLength: Int) {
    func number(_ place: Int, _ length: Int) -> UInt32 {
      (0..<length).reduce(0) { $0 | UInt32(member[place + $1]) << UInt32(8 * $1) }
    }
    // Magic, deflate, no optional fields, of a fixed length; at the end CRC-32 and length.
    let end = member.count - 8
    guard end >= 10, number(0, 4) == 0x00_08_8b_1f else { return nil }
    var runs: [UnsafeRawBufferPointer] = []
    var checksum: UInt32 = 0
    var count = 0
    var place = 10
    var isLast = false
    while !isLast {
      // Last or not, stored, padding of zeros; the length and its complement.
      guard place + 5 <= end, member[place] <= 1 else { return nil }
      let length = Int(number(place + 1, 2))
      guard number(place + 3, 2) == ~UInt32(length) & 0xffff, place + 5 + length <= end else {
        return nil
      }
      isLast = member[place] == 1
      let run = UnsafeRawBufferPointer(rebasing: member[(place + 5)..<(place + 5 + length)])
      checksum = libdeflate_crc32(checksum, run.baseAddress, run.count)
      runs.append(run)
      count += length
      place += 5 + length
    }
    guard place == end, count == plainLength, number(end, 4) == checksum,
      number(end + 4, 4) == UInt32(truncatingIfNeeded: count)
    else { return nil }
    self.runs = runs
  }
}

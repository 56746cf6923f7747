/// Cuts a large file into pieces at boundaries that depend on the bytes.
///
/// Pure. Bytes that are inserted or removed change few pieces. The cut uses a gear hash of the last
/// 64 bytes, with a stricter condition before the wanted length than after it. The parameters are
/// part of the format: an update cuts an installed file in the same way to find its pieces. Source:
/// Xia et al., FastCDC, USENIX ATC 2016.
enum ContentCutter {
  /// The minimum length of a piece, except for the last piece of a file.
  static let minimum = 64 << 10
  /// The typical length of a piece.
  static let wanted = 112 << 10
  static let maximum = 256 << 10

  // More zero bits make a cut rarer. High bits are used, since they depend on all 64 bytes.
  private static let hardMask: UInt64 = ~0 << (64 - 18)
  private static let easyMask: UInt64 = ~0 << (64 - 14)

  /// Returns the length of the first piece of `bytes`, or of all bytes if they are not cut.
  static func cut(_ bytes: UnsafeRawBufferPointer) -> Int {
    let end = min(bytes.count, maximum)
    guard end > minimum else { return end }
    return gears.withUnsafeBufferPointer { gears in
      var hash: UInt64 = 0
      // The hash only depends on the last 64 bytes.
      var position = minimum - 64
      while position < minimum {
        hash = (hash &<< 1) &+ gears[Int(bytes[position])]
        position += 1
      }
      let middle = min(wanted, end)
      while position < middle {
        hash = (hash &<< 1) &+ gears[Int(bytes[position])]
        position += 1
        if hash & hardMask == 0 { return position }
      }
      while position < end {
        hash = (hash &<< 1) &+ gears[Int(bytes[position])]
        position += 1
        if hash & easyMask == 0 { return position }
      }
      return end
    }
  }

  /// A random number for each byte value, from SplitMix64 with seed 1.
  private static let gears: [UInt64] = {
    var state: UInt64 = 1
    return (0..<256).map { _ in
      state &+= 0x9e37_79b9_7f4a_7c15
      var value = state
      value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
      return value ^ (value >> 31)
    }
  }()
}

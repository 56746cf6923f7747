/// Cuts a large file into pieces whose boundaries depend on its bytes, so that bytes inserted or
/// removed move few of them; pure.
///
/// A gear hash over the last 64 bytes, with a harder condition before the wanted length and an
/// easier one behind it. The parameters are part of the format: an update finds the pieces of an
/// installed file by cutting it the same way. Source: Xia et al., FastCDC, USENIX ATC 2016.
enum ContentCutter {
  /// Pieces are not shorter, but for a file's last one.
  static let minimum = 64 << 10
  /// Most pieces are about this long.
  static let wanted = 112 << 10
  /// Pieces are not longer.
  static let maximum = 256 << 10

  // The more bits of the hash must be zero, the rarer is a cut. High bits, since they depend on all
  // 64 bytes.
  private static let hardMask: UInt64 = ~0 << (64 - 18)
  private static let easyMask: UInt64 = ~0 << (64 - 14)

  /// The length of the piece that begins with `bytes`: all of them when they hold no cut.
  static func cut(_ bytes: UnsafeRawBufferPointer) -> Int {
    let end = min(bytes.count, maximum)
    guard end > minimum else { return end }
    return gears.withUnsafeBufferPointer { gears in
      var hash: UInt64 = 0
      // The hash has forgotten what lies more than 64 bytes back.
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

  /// A random number for each byte, from SplitMix64 with the seed 1.
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

/// A small random generator with a seed that can be printed and replayed.
package struct SplitMix: RandomNumberGenerator {
  package var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Returns `count` incompressible bytes, eight per step, since tests are not optimized.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    var words = [UInt64](repeating: 0, count: (count + 7) / 8)
    for place in words.indices { words[place] = next() }
    return words.withUnsafeBytes { Array($0.prefix(count)) }
  }
}

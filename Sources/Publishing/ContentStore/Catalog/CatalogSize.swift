/// How many hash bins a catalog has.
///
/// The limits keep what a change costs a client near its minimum: the snapshot grows with the
/// number of bins, and each bin with its entries. A publication decides by the lists that it
/// writes, without counting all products. See decision 28.
enum CatalogSize {
  /// The maximum number of entries of a store with one list.
  private static let oneList = 128
  /// The maximum number of entries of a bin, until the number of bins is the highest possible.
  private static let bin = 384
  /// The possible numbers of bins, in bits.
  ///
  /// The names of bins with the same number of hexadecimal digits are used again when the number
  /// grows.
  static let steps: [Int64] = [2, 4, 8, 10, 12]

  /// Whether a list with `count` entries is too long for a catalog with `bits`; 0 is one list.
  static func isFull(_ count: Int, bits: Int64) -> Bool {
    guard bits != steps.last else { return false }
    return count > (bits == 0 ? oneList : bin)
  }

  /// The next number of bits at which no list is full; `counts` returns the entries of each list.
  static func bits(after bits: Int64, counts: (Int64) throws -> [Int]) rethrows -> Int64 {
    for next in steps where next > bits {
      if try !counts(next).contains(where: { isFull($0, bits: next) }) { return next }
    }
    return bits
  }
}

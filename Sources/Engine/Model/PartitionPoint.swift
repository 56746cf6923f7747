extension RandomAccessCollection {
  /// Returns the index of the first element that is not in front, or the end, by binary search.
  ///
  /// The elements in front must come before all others.
  package func partitionPoint(_ isInFront: (Element) throws -> Bool) rethrows -> Index {
    var (start, count) = (startIndex, self.count)
    while count > 0 {
      let half = count / 2
      let middle = index(start, offsetBy: half)
      if try isInFront(self[middle]) {
        start = index(after: middle)
        count -= half + 1
      } else {
        count = half
      }
    }
    return start
  }
}

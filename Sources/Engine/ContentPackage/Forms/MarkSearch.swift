extension ArraySlice<UInt8> {
  /// What follows the first `mark`; empty when there is none.
  func behind(_ mark: String) -> ArraySlice<UInt8> {
    let mark = Array(mark.utf8)
    var rest = self
    while rest.count >= mark.count {
      if rest.starts(with: mark) { return rest.dropFirst(mark.count) }
      rest = rest.dropFirst()
    }
    return []
  }
}

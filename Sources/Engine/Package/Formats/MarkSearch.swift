extension ArraySlice<UInt8> {
  /// Returns the bytes after the first `mark`, or nothing if it is not found.
  func bytes(after mark: String) -> ArraySlice<UInt8> {
    let mark = Array(mark.utf8)
    var rest = self
    while rest.count >= mark.count {
      if rest.starts(with: mark) { return rest.dropFirst(mark.count) }
      rest = rest.dropFirst()
    }
    return []
  }
}

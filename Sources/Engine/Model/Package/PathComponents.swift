extension StringProtocol {
  /// Returns the components between slashes, without empty ones by default.
  ///
  /// Works on bytes, as the file system does. In Swift, `/` followed by a combining mark is a
  /// single `Character`, which is different from `/`.
  package func pathComponents(omittingEmpty: Bool = true) -> [String] {
    let slash = UInt8(ascii: "/")
    let components = utf8.withContiguousStorageIfAvailable { bytes in
      bytes.split(separator: slash, omittingEmptySubsequences: omittingEmpty)
        .map { String(decoding: UnsafeBufferPointer(rebasing: $0), as: UTF8.self) }
    }
    return components
      ?? utf8.split(separator: slash, omittingEmptySubsequences: omittingEmpty)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// The component after the last slash.
  package var lastPathComponent: String { pathComponents().last ?? "" }
}

extension String {
  /// Returns whether both are the same file name, byte by byte.
  ///
  /// `==` also accepts different Unicode forms of é.
  package func hasSameBytes(as other: String) -> Bool { hasSameBytes(as: other[...]) }

  /// Returns whether both are the same file name, byte by byte.
  package func hasSameBytes(as other: Substring) -> Bool {
    utf8.count == other.utf8.count && beginsWithBytes(of: other)
  }

  /// Returns whether the first bytes are those of `start`.
  package func beginsWithBytes(of start: Substring) -> Bool {
    let isEqual = utf8.withContiguousStorageIfAvailable { mine in
      start.utf8.withContiguousStorageIfAvailable { theirs in
        mine.count >= theirs.count && theirs.indices.allSatisfy { mine[$0] == theirs[$0] }
      }
    }
    return (isEqual ?? nil) ?? utf8.starts(with: start.utf8)
  }

  /// Returns whether the bytes sort before those of `other`, the order of paths in an index.
  package func precedesByBytes(_ other: String) -> Bool {
    let precedes = utf8.withContiguousStorageIfAvailable { mine in
      other.utf8.withContiguousStorageIfAvailable { theirs in
        let count = min(mine.count, theirs.count)
        let place = (0..<count).first { mine[$0] != theirs[$0] }
        return place.map { mine[$0] < theirs[$0] } ?? (mine.count < theirs.count)
      }
    }
    return (precedes ?? nil) ?? utf8.lexicographicallyPrecedes(other.utf8)
  }
}

extension String? {
  /// Returns whether both are nil, or both have the same bytes.
  package func hasSameBytes(as other: String?) -> Bool {
    guard let text = self, let other else { return self == nil && other == nil }
    return text.hasSameBytes(as: other)
  }
}

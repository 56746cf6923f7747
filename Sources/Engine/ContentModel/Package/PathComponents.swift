extension StringProtocol {
  /// The names between the slashes, empty ones only when asked for.
  ///
  /// Bytes decide, as they do for the file system: to Swift a `/` and a combining mark behind it
  /// are one `Character`, which is no `/`.
  package func pathComponents(omittingEmpty: Bool = true) -> [String] {
    utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: omittingEmpty)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// What stands behind the last slash.
  package var lastPathComponent: String { pathComponents().last ?? "" }
}

extension String {
  /// Whether both are the same name of a file, which is bytes to it; `==` takes é for é, however it
  /// is composed.
  package func hasSameBytes(as other: String) -> Bool { hasSameBytes(as: other[...]) }

  /// Whether both are the same name of a file.
  package func hasSameBytes(as other: Substring) -> Bool {
    utf8.count == other.utf8.count && beginsWithBytes(of: other)
  }

  /// Whether the first bytes are those of `start`.
  package func beginsWithBytes(of start: Substring) -> Bool {
    let isEqual = utf8.withContiguousStorageIfAvailable { mine in
      start.utf8.withContiguousStorageIfAvailable { theirs in
        mine.count >= theirs.count && theirs.indices.allSatisfy { mine[$0] == theirs[$0] }
      }
    }
    return (isEqual ?? nil) ?? utf8.starts(with: start.utf8)
  }

  /// Whether the bytes come before those of `other`, as the paths of an index are ordered.
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

package import FoundationEssentials

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

/// Percent-encoding for the path of a URL (RFC 3986).
package enum PercentEncoding {
  private static let unreserved = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~".utf8)

  /// Encodes one component; a `/` is encoded too.
  package static func component(_ text: some StringProtocol) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if unreserved.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Encodes the components of a path and keeps the slashes between them.
  package static func path(_ text: String) -> String {
    text.pathComponents(omittingEmpty: false).map { component($0) }.joined(separator: "/")
  }
}

extension URL {
  /// Returns the path of a file URL without a slash at its end; throws `usage` for other URLs.
  ///
  /// `what` names the file or folder in the error, such as “library”.
  package func filePath(of what: String) throws -> String {
    guard isFileURL else {
      throw ContentError(
        .usage, "“\(absoluteString.printable(limit: 200))” is not a file URL",
        remedy: "Give the \(what) as a file URL, such as URL(filePath:) creates",
        subject: absoluteString)
    }
    let path = path(percentEncoded: false)
    return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }
}

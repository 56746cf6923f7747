import ContentModel

/// A stream of a cpio archive (odc or newc) that throws a finding at an invalid name.
///
/// libarchive allocates any length that a name declares, up to 4 GB. It truncates a name at a NUL.
/// It compares each hard-linked file with all previous ones.
final class CpioNameCheck: ByteStream {
  private static let linkedLimit = 32_768

  private let inner: any ByteStream
  private var scanner = CpioScanner(keepingEntries: false)

  init(_ inner: any ByteStream) { self.inner = inner }

  func next() throws -> UnsafeRawBufferPointer {
    let bytes = try inner.next()
    guard !scanner.isAtEnd else { return bytes }
    guard scanner.push(bytes) else {
      throw scanner.isAtLongName
        ? Finding.limit("limit-header", "The header of an entry exceeds the size limit")
        : Finding.damaged("The payload is not a cpio archive (odc or newc)")
    }
    guard scanner.linkedCount <= Self.linkedLimit else {
      throw Finding.limit(
        "limit-entries", "More than \(Self.linkedLimit) files and folders have several links")
    }
    guard !scanner.hasSplitName else {
      throw Finding.entry("path-control", "A name contains a NUL character", path: "")
    }
    return bytes
  }
}

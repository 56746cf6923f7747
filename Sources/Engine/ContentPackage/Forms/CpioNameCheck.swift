import ContentModel

/// A stream of a cpio archive, odc or newc, that ends in a refusal at a name that no file can have.
///
/// libarchive makes room for any length that a name says it has, up to 4 GB, and takes a name with
/// a NUL in it for what lies before the NUL. It compares each file that has further names with all
/// before.
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
        ? Refusal.limit("limit-header", "An entry's header has more bytes than are read")
        : Refusal.damaged("The payload is no cpio archive, odc or newc")
    }
    guard scanner.linkedCount <= Self.linkedLimit else {
      throw Refusal.limit(
        "limit-entries", "More than \(Self.linkedLimit) files and folders have several names")
    }
    guard !scanner.hasSplitName else {
      throw Refusal(PathRules.finding("path-control", "A name has a NUL in it", path: ""))
    }
    return bytes
  }
}

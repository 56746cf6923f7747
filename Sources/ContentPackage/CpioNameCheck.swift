import ContentModel

/// A stream of a cpio archive that ends in a refusal when a name has a NUL in it.
///
/// libarchive takes such a name for what lies before the NUL, and hides the rest.
final class CpioNameCheck: ByteStream {
  private let inner: any ByteStream
  private var scanner = CpioScanner()
  private var isScanning = true

  init(_ inner: any ByteStream) { self.inner = inner }

  func next() throws -> UnsafeRawBufferPointer {
    let bytes = try inner.next()
    // What is no cpio archive is libarchive's to refuse.
    if isScanning { isScanning = scanner.push(bytes) && !scanner.isAtEnd }
    guard !scanner.hasSplitName else {
      let message = "A name has a NUL in it"
      throw Refusal(PathRules.finding("path-control", message, path: ""))
    }
    return bytes
  }
}

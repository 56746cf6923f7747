import HostedPackage
import HostedFileIO

/// A file that is read at a limited rate.
///
/// Each pass over the file counts, because each may read from the disk.
final class ThrottledSource: ByteSource {
  private let source: FileByteSource
  private let throttle: ReadThrottle?

  var length: Int64 { source.length }

  /// Takes ownership of the file; a nil `throttle` is unlimited.
  init(_ file: consuming File, _ throttle: ReadThrottle?) throws {
    source = try FileByteSource(file)
    self.throttle = throttle
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    let count = try source.read(into: buffer, at: offset)
    throttle?.pass(count)
    return count
  }

  func contents() throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(clamping: length))
    try forEachBlock { bytes += $0 }
    return bytes
  }
}

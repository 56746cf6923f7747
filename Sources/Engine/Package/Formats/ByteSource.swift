package import HostedFileIO

/// The bytes of a package, which can be read at any offset; one thread uses it at a time.
package protocol ByteSource: AnyObject {
  /// The total number of bytes; it does not change.
  var length: Int64 { get }

  /// Reads 1 to `buffer.count` bytes at `offset`.
  ///
  /// Returns 0 at the end and after it. Errors are passed unchanged to the caller who reads the
  /// package.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
}

extension ByteSource {
  /// Reads at `offset` up to the next multiple of the buffer's length, but not past `end`.
  ///
  /// Returns 0 at `end`. Therefore the same blocks are read wherever reading starts.
  func readStep(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, before end: Int64)
    throws -> Int
  {
    let room = buffer.count - Int(offset % Int64(buffer.count))
    let wanted = Int(min(Int64(room), end - offset))
    return wanted == 0
      ? 0 : try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
  }

  /// Returns up to `count` bytes at `offset`; it returns fewer only at the end.
  func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
    guard offset < UInt64(length) else { return [] }
    let start = Int64(offset)
    var bytes = [UInt8](repeating: 0, count: Int(min(Int64(count), length - start)))
    var filled = 0
    while filled < bytes.count {
      let found = try bytes.withUnsafeMutableBytes {
        try read(
          into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]), at: start + Int64(filled))
      }
      if found == 0 { break }
      filled += found
    }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }
}

package final class FileByteSource: ByteSource {
  package let length: Int64
  private let file: File

  /// Takes ownership of the file; throws if its status cannot be read.
  package init(_ file: consuming File) throws {
    length = try file.status().size
    self.file = file
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    try file.read(into: buffer, at: offset)
  }
}

package import FileIO

/// A package's bytes, read at any offset; used by one thread at a time.
package protocol ByteSource: AnyObject {
  /// Bytes in all; does not change.
  var length: Int64 { get }

  /// Reads up to `buffer.count` bytes at `offset`, at least one; 0 at the end and behind it.
  ///
  /// What it throws reaches the caller of whatever reads the package, unchanged.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
}

extension ByteSource {
  /// Reads on at `offset`, to the next multiple of the buffer's length at most and not beyond
  /// `end`; 0 there.
  ///
  /// So a part of the package is read by the same steps wherever reading began.
  func readStep(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, before end: Int64)
    throws -> Int
  {
    let room = buffer.count - Int(offset % Int64(buffer.count))
    let wanted = Int(min(Int64(room), end - offset))
    return wanted == 0
      ? 0 : try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
  }

  /// Up to `count` bytes at `offset`; fewer only at the end.
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

/// A package that lies in a file.
package final class FileByteSource: ByteSource {
  package let length: Int64
  private let file: File

  /// Takes the file; throws when it cannot be looked at.
  package init(_ file: consuming File) throws {
    length = try file.status().size
    self.file = file
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    try file.read(into: buffer, at: offset)
  }
}

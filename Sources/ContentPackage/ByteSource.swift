package import FileIO

/// A package's bytes, read at any offset; used by one thread at a time.
package protocol ByteSource: AnyObject {
  /// Bytes in all; does not change.
  var length: Int64 { get }

  /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end, 0 behind it.
  ///
  /// What it throws reaches the caller of whatever reads the package, unchanged.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
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

package import ContentModel
package import Digests
package import FileIO

extension DigestStream {
  /// Returns the digest of all bytes of `file`, read through `buffer`; the stream must be new.
  ///
  /// `didRead` gets the number of bytes of each read.
  package mutating func finish(
    reading file: borrowing File, through buffer: UnsafeMutableRawBufferPointer,
    _ didRead: (Int) -> Void = { _ in }
  ) throws -> Digest {
    var offset: Int64 = 0
    while true {
      let count = try file.read(into: buffer, at: offset)
      try update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      didRead(count)
      if count < buffer.count { return try finish() }
    }
  }
}

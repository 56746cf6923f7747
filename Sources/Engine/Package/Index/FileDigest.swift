package import HostedModel
package import HostedDigests
package import HostedFileIO

extension DigestStream {
  /// Returns the digest of the bytes of `file` in `range`, read through `buffer`.
  ///
  /// The stream must be new. A range may end after the file. `didRead` gets the number of bytes of
  /// each read.
  package mutating func finish(
    reading file: borrowing File, _ range: Range<Int64> = 0..<Int64.max,
    through buffer: UnsafeMutableRawBufferPointer, _ didRead: (Int) -> Void = { _ in }
  ) throws -> Digest {
    var offset = range.lowerBound
    while true {
      let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
      let count = try file.read(into: room, at: offset)
      try update(UnsafeRawBufferPointer(rebasing: room[..<count]))
      offset += Int64(count)
      didRead(count)
      if count < wanted || offset == range.upperBound { return try finish() }
    }
  }
}

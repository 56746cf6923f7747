package import HostedDigests
package import HostedFileIO
package import HostedModel

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

  /// Calls `body` with all bytes, in order, in blocks of `PackageIndex.standardBlockLength` bytes.
  ///
  /// The last block can be shorter.
  /// Throws `fileFailed` if the source ends early.
  package func forEachBlock(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: PackageIndex.standardBlockLength, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < length {
      let wanted = Int(min(Int64(buffer.count), length - offset))
      let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
      guard try read(into: block, at: offset) == wanted else {
        throw ContentError(
          .fileFailed, "The package became shorter than \(length) bytes while it was read",
          remedy: "Make sure that no other program writes the package, and try again")
      }
      try body(UnsafeRawBufferPointer(block))
      offset += Int64(wanted)
    }
  }

  /// Returns the SHA-256 of all bytes, and calls `body` with each block.
  package func digest(_ body: (UnsafeRawBufferPointer) throws -> Void = { _ in }) throws -> Digest {
    var stream = DigestStream()
    try forEachBlock {
      try stream.update($0)
      try body($0)
    }
    return try stream.finish()
  }
}

package final class FileByteSource: ByteSource {
  package let length: Int64
  private let file: File
  private let throttle: ReadThrottle?

  /// Takes ownership of the file; throws if its status cannot be read.
  ///
  /// Each read counts for `throttle`, because each may read from the disk; nil is unlimited.
  package init(_ file: consuming File, _ throttle: ReadThrottle? = nil) throws {
    length = try file.status().size
    self.file = file
    self.throttle = throttle
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    let count = try file.read(into: buffer, at: offset)
    throttle?.pass(count)
    return count
  }
}

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

extension BidirectionalCollection<UInt8> {
  /// Returns the number in `width` bytes at `offset`; the bytes must exist.
  func littleEndian(_ offset: Int, _ width: Int) -> UInt64 {
    dropFirst(offset).prefix(width).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  func bigEndian(_ offset: Int, _ width: Int) -> UInt64 {
    dropFirst(offset).prefix(width).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension ArraySlice<UInt8> {
  /// Returns `count` bytes at `offset`, or fewer at the end.
  func part(_ offset: Int, _ count: Int) -> ArraySlice<UInt8> { dropFirst(offset).prefix(count) }

  /// Returns the bytes after the first `mark`, or nothing if it is not found.
  func bytes(after mark: String) -> ArraySlice<UInt8> {
    let mark = Array(mark.utf8)
    var rest = self
    while rest.count >= mark.count {
      if rest.starts(with: mark) { return rest.dropFirst(mark.count) }
      rest = rest.dropFirst()
    }
    return []
  }
}

import HostedModel
import HostedPackage
import HostedDigests

extension ByteSource {
  /// Calls `body` with all bytes, in order, in blocks of up to 1 MiB.
  ///
  /// Throws `fileFailed` if the source ends early.
  func forEachBlock(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
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

  func digest() throws -> Digest {
    var stream = DigestStream()
    try forEachBlock { try stream.update($0) }
    return try stream.finish()
  }
}

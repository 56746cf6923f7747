package import ContentModel
import Digests

extension PackageIndex {
  /// Bytes of a block of a package that is indexed by blocks.
  package static let standardBlockLength = 1 << 20

  /// Computes the digest of each block of `source`; `entries` are the files of its examination.
  package init(indexing source: any ByteSource, entries: [IndexedFile]) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.standardBlockLength, alignment: 16)
    defer { buffer.deallocate() }
    var blocks: [Digest] = []
    var offset: Int64 = 0
    while offset < source.length {
      let wanted = Int(min(Int64(buffer.count), source.length - offset))
      let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
      guard try source.read(into: block, at: offset) == wanted else {
        throw ContentError(
          .archiveDamaged, "The package became shorter than its \(source.length) bytes",
          remedy: "Let no other program write the package, and start again")
      }
      blocks.append(try Digest(of: UnsafeRawBufferPointer(block)))
      offset += Int64(wanted)
    }
    self.init(
      packageLength: source.length, blockLength: buffer.count, blocks: blocks, files: entries)
  }
}

package import ContentModel
import Digests

extension PackageIndex {
  /// Bytes of a block of a package that is indexed by blocks.
  package static let standardBlockLength = 1 << 20

  /// Derives the index of `source`, whose examination found `entries`: by members where these can
  /// be decoded alone, else by blocks, with the reason.
  package init(indexing source: any ByteSource, entries: [IndexedFile]) throws {
    do {
      let payload = try MemberScan.payload(of: source, entries: entries)
      self.init(packageLength: source.length, payload: payload, files: entries)
      if isConsistent { return }
      throw MemberScan.Obstacle("Its members contradict each other")
    } catch let obstacle as MemberScan.Obstacle {
      try self.init(blocksOf: source, entries: entries, obstacle: obstacle.reason)
    } catch is Refusal {
      try self.init(blocksOf: source, entries: entries, obstacle: "Its form is not known")
    }
  }

  /// Computes the digest of each block of `source`.
  package init(blocksOf source: any ByteSource, entries: [IndexedFile], obstacle: String) throws {
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
      packageLength: source.length, blockLength: buffer.count, blocks: blocks, files: entries,
      obstacle: obstacle)
  }
}

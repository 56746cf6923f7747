package import HostedModel
import HostedDigests

extension PackageIndex {
  /// The block length of a package that is indexed by blocks, in bytes.
  package static let standardBlockLength = 1 << 20

  /// Creates the index of `source`.
  ///
  /// `entries` come from its examination. The index is by members if these can be decoded
  /// separately. Otherwise it is by blocks and contains the reason.
  package init(indexing source: any ByteSource, entries: [IndexedFile]) throws {
    do {
      let payload = try MemberScan.payload(of: source, entries: entries)
      self.init(packageLength: source.length, payload: payload, files: entries)
      if isConsistent { return }
      throw MemberScan.Obstacle("The index of members is inconsistent")
    } catch let obstacle as MemberScan.Obstacle {
      try self.init(blocksOf: source, entries: entries, obstacle: obstacle.reason)
    } catch is Finding {
      try self.init(
        blocksOf: source, entries: entries, obstacle: "The format of the package is unknown")
    }
  }

  /// Creates an index with the digest of each block of `source`.
  package init(blocksOf source: any ByteSource, entries: [IndexedFile], obstacle: String) throws {
    let length = Self.standardBlockLength
    var blocks: [Digest] = []
    for offset in stride(from: 0, to: source.length, by: length) {
      let block = try source.bytes(at: UInt64(offset), count: length)
      guard Int64(block.count) == min(Int64(length), source.length - offset) else {
        throw ContentError(
          .archiveDamaged,
          "The package was truncated while it was read: expected \(source.length) bytes",
          remedy: "Make sure that no other program writes to the package, and try again")
      }
      blocks.append(try Digest(of: block))
    }
    self.init(
      packageLength: source.length, blockLength: length, blocks: blocks, files: entries,
      obstacle: obstacle)
  }
}

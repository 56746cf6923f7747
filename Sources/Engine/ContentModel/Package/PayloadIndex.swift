/// Where each member of a package's payload lies, and which bytes of which file it holds.
///
/// Members follow each other without a gap, in the package and in the plain bytes. What the plain
/// bytes between two files' data say (headers of the archive) does not matter to an install, which
/// takes names, kinds and sizes from the index alone.
package struct PayloadIndex: Hashable, Sendable {
  /// No member has more plain bytes.
  package static let maximumPlainLength = 1 << 20
  /// No member has more packed bytes.
  package static let maximumPackedLength = maximumPlainLength + (64 << 10)

  /// No payload has more members: twice as many as fill a package with 64 KiB each.
  package static let maximumCount = 1 << 19

  /// Where the first member begins in the package, in bytes.
  package let offset: Int64
  /// The members, in order.
  package let members: [IndexedMember]
  /// For each entry of the index, where its data begin in the plain bytes; ascending, and 0 for an
  /// entry without data.
  package let dataOffsets: [Int64]

  /// Creates the layout of a payload.
  package init(offset: Int64, members: [IndexedMember], dataOffsets: [Int64]) {
    self.offset = offset
    self.members = members
    self.dataOffsets = dataOffsets
  }

  /// Bytes of all members as they are packed.
  package var packedLength: Int64 { members.reduce(0) { $0 + Int64($1.packedLength) } }

  func isConsistent(with files: [IndexedFile], packageLength: Int64) -> Bool {
    guard offset >= 0, offset <= packageLength, dataOffsets.count == files.count else {
      return false
    }
    var packed = offset
    var plain: Int64 = 0
    for member in members {
      guard (1...Self.maximumPackedLength).contains(member.packedLength),
        (0...Self.maximumPlainLength).contains(member.plainLength)
      else { return false }
      packed += Int64(member.packedLength)
      plain += Int64(member.plainLength)
    }
    guard packed <= packageLength else { return false }
    var end: Int64 = 0
    for (file, start) in zip(files, dataOffsets) where file.size > 0 {
      guard start >= end, start <= plain, file.size <= plain - start else { return false }
      end = start + file.size
    }
    return true
  }
}

/// One member of a payload: a part that can be fetched, authenticated and decoded alone.
package struct IndexedMember: Hashable, Sendable {
  /// Bytes in the package.
  package let packedLength: Int
  /// Bytes once it is decoded.
  package let plainLength: Int
  /// SHA-256 of the packed bytes.
  package let digest: Digest
  /// SHA-256 of the plain bytes of a member that lies inside one file; nil for others.
  ///
  /// By it the same piece is found again in an older version of the file, or in staging.
  package let plainDigest: Digest?

  /// Creates a member.
  package init(packedLength: Int, plainLength: Int, digest: Digest, plainDigest: Digest? = nil) {
    self.packedLength = packedLength
    self.plainLength = plainLength
    self.digest = digest
    self.plainDigest = plainDigest
  }
}

/// The layout of a package's payload: its members and the offsets of file data.
///
/// Members follow each other without gaps, both packed and decoded. Decoded bytes between the data
/// of two files, such as archive headers, are ignored: an install takes names, kinds and sizes only
/// from the index.
package struct PayloadIndex: Hashable, Sendable {
  /// The maximum decoded length of a member, in bytes.
  package static let maximumPlainLength = 1 << 20
  /// The maximum packed length of a member, in bytes.
  package static let maximumPackedLength = maximumPlainLength + (64 << 10)

  /// The maximum number of members: twice as many as a package of 64 KiB members has.
  package static let maximumCount = 1 << 19

  /// The offset of the first member in the package, in bytes.
  package let offset: Int64
  /// The members, in order.
  package let members: [IndexedMember]
  /// The offset of each entry's data in the decoded bytes; ascending, 0 without data.
  package let dataOffsets: [Int64]

  package init(offset: Int64, members: [IndexedMember], dataOffsets: [Int64]) {
    self.offset = offset
    self.members = members
    self.dataOffsets = dataOffsets
  }

  /// The total packed length of all members, in bytes.
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

/// A member of a payload, which can be fetched, authenticated and decoded alone.
package struct IndexedMember: Hashable, Sendable {
  /// The packed length in bytes.
  package let packedLength: Int
  /// The decoded length in bytes.
  package let plainLength: Int
  /// SHA-256 of the packed bytes.
  package let digest: Digest
  /// SHA-256 of the decoded bytes if the member is inside one file; nil for others.
  ///
  /// It identifies the same piece in an older version of the file, or in staging.
  package let plainDigest: Digest?

  package init(packedLength: Int, plainLength: Int, digest: Digest, plainDigest: Digest? = nil) {
    self.packedLength = packedLength
    self.plainLength = plainLength
    self.digest = digest
    self.plainDigest = plainDigest
  }
}

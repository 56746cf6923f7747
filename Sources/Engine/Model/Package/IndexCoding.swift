/// Encodes an index in a compact, unique form.
///
/// The bytes are `HCIX`, the format number, then the output of a `CompactWriter`, with files sorted
/// by the bytes of their paths. All counts are checked before memory is allocated.
extension PackageIndex {
  /// The format number; readers refuse other numbers.
  package static let currentFormat: UInt8 = 1
  private static let magic = Array("HCIX".utf8)

  /// The encoded index, as published.
  package var encoded: [UInt8] {
    var writer = CompactWriter()
    writer.append(Self.magic + [Self.currentFormat])
    writer.number(packageLength)
    writer.files(files)
    writer.number(payload == nil ? 0 : 1)
    if let payload {
      writer.payload(payload, of: files)
    } else {
      writer.number(Int64(blockLength))
      writer.number(Int64(blocks.count))
      for block in blocks { writer.digest(block) }
      writer.text(Array((obstacle ?? "").utf8))
    }
    return writer.bytes
  }

  /// Decodes an index.
  ///
  /// Throws `storeDamaged` if it is truncated or inconsistent, and `formatUnknown` if newer software
  /// wrote it.
  package init(encoded bytes: [UInt8]) throws {
    do {
      try self.init(reading: bytes)
    } catch let error as CompactReader.Unreadable {
      throw ContentError(
        .storeDamaged, "Cannot read the index of a package: \(error.reason)",
        remedy: "Ask the store's owner to publish the package again")
    }
  }

  private init(reading bytes: [UInt8]) throws {
    typealias Unreadable = CompactReader.Unreadable
    guard Int64(bytes.count) <= Self.maximumLength else {
      throw Unreadable(reason: "it is too long")
    }
    var reader = CompactReader(bytes)
    guard try reader.take(4).elementsEqual(Self.magic) else {
      throw Unreadable(reason: "it does not start with HCIX")
    }
    let format = try reader.take(1).first ?? 0
    guard format == Self.currentFormat else {
      throw ContentError(
        .formatUnknown,
        "The index of a package has format \(format), expected \(Self.currentFormat)",
        remedy: "Use a newer version of this software")
    }
    let packageLength = try reader.number()
    let files = try reader.files()
    let kind = try reader.number()
    guard kind <= 1 else { throw Unreadable(reason: "it has an unknown layout") }
    if kind == 1 {
      let payload = try reader.payload(of: files)
      self.init(packageLength: packageLength, payload: payload, files: files)
    } else {
      let blockLength = Int(try reader.number())
      let blocks = try (0..<reader.count(ofAtLeast: 32)).map { _ in try reader.digest() }
      let obstacle = try reader.text(limit: Self.obstacleLimit)
      self.init(
        packageLength: packageLength, blockLength: blockLength, blocks: blocks, files: files,
        obstacle: obstacle.isEmpty ? nil : obstacle)
    }
    guard reader.isAtEnd, isConsistent else {
      throw Unreadable(reason: "its numbers contradict each other")
    }
  }
}

extension CompactWriter {
  fileprivate mutating func payload(_ payload: PayloadIndex, of files: [IndexedFile]) {
    number(payload.offset)
    number(Int64(payload.members.count))
    for member in payload.members {
      number(Int64(member.packedLength))
      number(Int64(member.plainLength) << 1 | (member.plainDigest == nil ? 0 : 1))
      digest(member.digest)
      if let plainDigest = member.plainDigest { digest(plainDigest) }
    }
    var end: Int64 = 0
    for (file, start) in zip(files, payload.dataOffsets) where file.size > 0 {
      number(start - end)
      end = start + file.size
    }
  }
}

extension CompactReader {
  fileprivate mutating func payload(of files: [IndexedFile]) throws -> PayloadIndex {
    let offset = try number()
    let count = try count(ofAtLeast: 34)
    guard count <= PayloadIndex.maximumCount else {
      throw Unreadable(reason: "it has more than \(PayloadIndex.maximumCount) members")
    }
    var members: [IndexedMember] = []
    members.reserveCapacity(count)
    for _ in 0..<count {
      let (packed, plain) = (try number(), try number())
      let digest = try digest()
      members.append(
        IndexedMember(
          packedLength: Int(packed), plainLength: Int(plain >> 1), digest: digest,
          plainDigest: plain & 1 == 1 ? try self.digest() : nil))
    }
    var end: Int64 = 0
    let offsets = try files.map { file -> Int64 in
      guard file.size > 0 else { return 0 }
      let gap = try number()
      // An overflow must not trap here; the check of the whole index finds it later.
      let start = end.addingReportingOverflow(gap).partialValue
      end = start.addingReportingOverflow(file.size).partialValue
      return start
    }
    return PayloadIndex(offset: offset, members: members, dataOffsets: offsets)
  }
}

/// The index of a package: digests of its pieces, and the files inside.
///
/// It is built when publishing and signed with the catalog, so that each piece can be authenticated
/// alone, before it is parsed. If the members of a package can be decoded alone, the index has a
/// `payload`. Otherwise the package is fetched by `blocks`, and `obstacle` is the reason.
package struct PackageIndex: Hashable, Sendable {
  /// The maximum length of an index in bytes; longer ones are refused before parsing.
  package static let maximumLength: Int64 = 64 << 20
  /// The maximum length of a package, and of all its installed files, in bytes.
  package static let maximumSize: Int64 = 1 << 40
  /// The maximum number of entries of an index or package.
  package static let maximumEntryCount = 100_000
  /// The maximum total length of all paths and link targets of an index or package, in bytes.
  package static let maximumPathTotal = 16 << 20

  /// The maximum length of an obstacle, in bytes; longer ones are shortened.
  private static let obstacleLimit = 1024

  package let packageLength: Int64
  /// The members; nil for a package that must be read sequentially.
  package let payload: PayloadIndex?
  /// The reason, one sentence, why the index does not have members; nil if it does.
  package let obstacle: String?
  /// The length of each block in bytes; the last may be shorter; 0 if the index has members.
  package let blockLength: Int
  /// SHA-256 of each block of the package, in order; empty if the index has members.
  package let blocks: [Digest]
  /// The entries, sorted by the bytes of their paths.
  package let files: [IndexedFile]

  /// Creates the index of a package that is fetched by blocks.
  package init(
    packageLength: Int64, blockLength: Int, blocks: [Digest], files: [IndexedFile],
    obstacle: String? = nil
  ) {
    self.packageLength = packageLength
    self.blockLength = blockLength
    self.blocks = blocks
    self.files = files
    // The path of a file may be in it.
    self.obstacle = obstacle.map {
      $0.utf8.count <= Self.obstacleLimit ? $0 : $0.printable(limit: Self.obstacleLimit / 4 - 1)
    }
    payload = nil
  }

  /// Creates the index of a package whose members can be decoded alone.
  package init(packageLength: Int64, payload: PayloadIndex, files: [IndexedFile]) {
    self.packageLength = packageLength
    self.payload = payload
    self.files = files
    obstacle = nil
    blockLength = 0
    blocks = []
  }

  /// The size of all installed files in bytes.
  package var installedSize: Int64 { files.reduce(0) { $0 + $1.size } }

  package func range(ofBlock number: Int) -> Range<Int64> {
    let start = Int64(number) * Int64(blockLength)
    return start..<min(start + Int64(blockLength), packageLength)
  }

  /// Whether the numbers are consistent, so that arithmetic on them is safe.
  package var isConsistent: Bool {
    guard (0...Self.maximumSize).contains(packageLength), hasPlausibleFiles else { return false }
    if let payload { return payload.isConsistent(with: files, packageLength: packageLength) }
    return (4096...(64 << 20)).contains(blockLength)
      && Int64(blocks.count) == (packageLength + Int64(blockLength) - 1) / Int64(blockLength)
  }

  private var hasPlausibleFiles: Bool {
    var total: Int64 = 0
    for file in files {
      guard (0...Self.maximumSize).contains(file.size), file.kind == .file || file.size == 0 else {
        return false
      }
      total += file.size
      if total > Self.maximumSize { return false }
    }
    return true
  }
}

/// A file, folder or link inside a package.
package struct IndexedFile: Hashable, Codable, Sendable {
  /// The path relative to the content's root, with `/`, such as `Contents/page-1.txt`.
  package let path: String
  package let kind: Kind
  /// The size in bytes; 0 for folders and links.
  package let size: Int64
  /// SHA-256 of a regular file's bytes; nil for others.
  package let digest: Digest?
  /// A symbolic link's target; nil for others.
  package let target: String?

  /// The allowed kinds of entries; others are refused.
  package enum Kind: String, Codable, Sendable {
    case file, directory, link
  }

  package init(
    path: String, kind: Kind, size: Int64 = 0, digest: Digest? = nil, target: String? = nil
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.digest = digest
    self.target = target
  }
}

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

  fileprivate func isConsistent(with files: [IndexedFile], packageLength: Int64) -> Bool {
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

/// Encodes an index in a compact, unique form.
///
/// The bytes are `HCIX`, the format number, then the output of a `CompactWriter`, with files sorted
/// by the bytes of their paths. All counts are checked before memory is allocated.
extension PackageIndex {
  /// The format number; readers refuse other numbers.
  package static let currentFormat: UInt8 = 1
  private static let magic = Array("HCIX".utf8)

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
  /// Throws `storeDamaged` if it is truncated or inconsistent, and `formatUnknown` if newer
  /// software wrote it.
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

/// Writes numbers, texts, digests and files in a compact, unique encoding.
///
/// Numbers are LEB128 (seven bits per byte, low bits first). Digests are 32 bytes. A path is the
/// number of bytes shared with the previous path, followed by the rest.
struct CompactWriter {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ more: some Sequence<UInt8>) { bytes += more }

  mutating func number(_ value: Int64) {
    var rest = UInt64(max(0, value))
    while rest > 0x7f {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Appends eight bytes in little-endian order.
  mutating func word(_ value: UInt64) { withUnsafeBytes(of: value.littleEndian) { bytes += $0 } }

  mutating func digest(_ digest: Digest) { bytes += digest.bytes }

  mutating func text(_ text: [UInt8]) {
    number(Int64(text.count))
    bytes += text
  }

  /// Appends `files`, which must be sorted by the bytes of their paths.
  mutating func files(_ files: [IndexedFile]) {
    number(Int64(files.count))
    var previous: [UInt8] = []
    for file in files { self.file(file, after: &previous) }
  }

  private mutating func file(_ file: IndexedFile, after previous: inout [UInt8]) {
    let path = Array(file.path.utf8)
    var shared = 0
    while shared < min(path.count, previous.count), path[shared] == previous[shared] { shared += 1 }
    number(Int64(shared))
    number(Int64(path.count - shared))
    bytes += path[shared...]
    previous = path
    switch file.kind {
    case .file:
      number(file.digest == nil ? 3 : 0)
      number(file.size)
      if let digest = file.digest { self.digest(digest) }
    case .directory: number(1)
    case .link:
      number(2)
      text(Array((file.target ?? "").utf8))
    }
  }
}

/// Reads the encoding of `CompactWriter`; each count is limited by the remaining bytes.
struct CompactReader {
  struct Unreadable: Error {
    let reason: String
  }

  private static let pathLimit = 4096

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
    guard count >= 0, count <= bytes.count - position else {
      throw Unreadable(reason: "it is truncated")
    }
    defer { position += count }
    return bytes[position..<(position + count)]
  }

  mutating func number() throws -> Int64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), through: 56, by: 7) {
      guard position < bytes.count else { throw Unreadable(reason: "it is truncated") }
      let byte = bytes[position]
      position += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte & 0x80 == 0 {
        // Reject a longer encoding of the same number.
        guard byte != 0 || shift == 0 else { break }
        return Int64(value)
      }
    }
    throw Unreadable(reason: "it has an invalid number")
  }

  /// Reads a count of elements that have at least `length` bytes each.
  mutating func count(ofAtLeast length: Int) throws -> Int {
    let count = try number()
    guard count <= (bytes.count - position) / length else {
      throw Unreadable(reason: "it is truncated")
    }
    return Int(count)
  }

  mutating func word() throws -> UInt64 {
    try take(8).withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
  }

  mutating func digest() throws -> Digest {
    guard let digest = Digest(bytes: try take(32)) else {
      throw Unreadable(reason: "it is truncated")
    }
    return digest
  }

  mutating func text(limit: Int) throws -> String {
    let count = try number()
    guard count <= limit, let text = String(validating: try take(Int(count)), as: UTF8.self) else {
      throw Unreadable(reason: "it has an invalid text")
    }
    return text
  }

  mutating func files() throws -> [IndexedFile] {
    let count = try count(ofAtLeast: 3)
    guard count <= PackageIndex.maximumEntryCount else {
      throw Unreadable(reason: "it has more than \(PackageIndex.maximumEntryCount) entries")
    }
    var files: [IndexedFile] = []
    files.reserveCapacity(count)
    var path: [UInt8] = []
    var total = 0
    for _ in 0..<count {
      try readPath(into: &path, isFirst: files.isEmpty)
      guard let text = String(validating: path, as: UTF8.self) else {
        throw Unreadable(reason: "it has an invalid path")
      }
      let file = try file(text)
      // Shared prefixes are encoded once but expanded for each path.
      total += path.count + (file.target?.utf8.count ?? 0)
      guard total <= PackageIndex.maximumPathTotal else {
        throw Unreadable(reason: "its paths are too long")
      }
      files.append(file)
    }
    return files
  }

  /// Replaces `path` with the next path.
  private mutating func readPath(into path: inout [UInt8], isFirst: Bool) throws {
    let (shared, count) = (try number(), try number())
    guard shared <= path.count, count <= Self.pathLimit - Int(shared) else {
      throw Unreadable(reason: "it has an invalid path")
    }
    let rest = try take(Int(count))
    guard isFirst || path[Int(shared)...].lexicographicallyPrecedes(rest) else {
      throw Unreadable(reason: "its paths are not in order")
    }
    path.replaceSubrange(Int(shared)..., with: rest)
  }

  private mutating func file(_ path: String) throws -> IndexedFile {
    switch try number() {
    case 0:
      let size = try number()
      return IndexedFile(path: path, kind: .file, size: size, digest: try digest())
    case 1: return IndexedFile(path: path, kind: .directory)
    case 2: return IndexedFile(path: path, kind: .link, target: try text(limit: Self.pathLimit))
    case 3: return IndexedFile(path: path, kind: .file, size: try number())
    default: throw Unreadable(reason: "it has an entry of unknown kind")
    }
  }
}

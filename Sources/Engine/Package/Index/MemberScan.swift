import HostedModel
import HostedDigests

/// Finds the members of a flat product archive's payload, and the content of each member.
///
/// The boundaries of members are found by decoding them, as any other reader does.
struct MemberScan {
  /// The reason why a package cannot be fetched by members.
  struct Obstacle: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  private let source: any ByteSource
  private let range: Range<Int64>
  private var cpio = CpioScanner()
  private var members: [IndexedMember] = []

  /// Returns the layout of the payload.
  ///
  /// `entries` come from the examination of the package. Throws `Obstacle` if the payload cannot be
  /// indexed, a finding if the package is damaged, and the errors of `source`.
  static func payload(of source: any ByteSource, entries: [IndexedFile]) throws -> PayloadIndex {
    guard case .xar = try Container(source), let product = try FlatProduct(XarTable(source)) else {
      throw Obstacle("The package is not a flat product archive")
    }
    guard let range = product.payloadRange, !range.isEmpty else {
      throw Obstacle("The payload is stored encoded")
    }
    var scan = MemberScan(source: source, range: range)
    try scan.readMembers()
    return try scan.layout(of: entries)
  }

  private mutating func readMembers() throws {
    let stream = try GzipStream(SourceStream(source, range))
    do {
      while case .member(let packed, let plain) = try stream.nextPart() {
        try add(packed, plain)
      }
    } catch is Finding {
      // Then the members end before the payload.
    }
    guard members.reduce(0, { $0 + $1.packedLength }) == range.count else {
      throw Obstacle("The payload does not consist of gzip members of up to 1 MiB")
    }
  }

  private mutating func add(_ packed: UnsafeRawBufferPointer, _ plain: UnsafeRawBufferPointer)
    throws
  {
    do {
      try cpio.push(plain)
    } catch {
      throw Obstacle("The payload is not a cpio archive")
    }
    guard members.count < PayloadIndex.maximumCount else {
      throw Obstacle("The payload has more than \(PayloadIndex.maximumCount) members")
    }
    members.append(
      IndexedMember(
        packedLength: packed.count, plainLength: plain.count, digest: try Digest(of: packed),
        plainDigest: try Digest(of: plain)))
  }

  /// Returns the result of the scan; throws `Obstacle` if it differs from the result of libarchive.
  private func layout(of entries: [IndexedFile]) throws -> PayloadIndex {
    guard cpio.isAtEnd else { throw Obstacle("The payload has no trailer") }
    var found: [String: CpioScanner.Entry] = [:]
    for entry in cpio.entries {
      let path = entry.path.starts(with: "./".utf8) ? entry.path.dropFirst(2) : entry.path[...]
      found[String(decoding: path, as: UTF8.self)] = entry
    }
    var end: Int64 = 0
    let offsets = try entries.map { file -> Int64 in
      guard file.kind == .file, file.size > 0 else { return 0 }
      guard let entry = found[file.path], entry.size == file.size, entry.mode & 0o170000 == 0o100000
      else { throw Obstacle("“\(file.path)” has no data of its own") }
      guard entry.offset >= end else { throw Obstacle("The files are not sorted by path") }
      end = entry.offset + file.size
      return entry.offset
    }
    return PayloadIndex(
      offset: range.lowerBound, members: indexedMembers(entries, offsets), dataOffsets: offsets)
  }

  /// Returns the members; only members with data of one file get a digest of uncompressed bytes.
  private func indexedMembers(_ entries: [IndexedFile], _ offsets: [Int64]) -> [IndexedMember] {
    let data = zip(entries, offsets).filter { $0.0.size > 0 }.map { $1..<($1 + $0.size) }
    var next = 0
    var start: Int64 = 0
    return members.map { member in
      let end = start + Int64(member.plainLength)
      defer { start = end }
      while next < data.count, data[next].upperBound <= start { next += 1 }
      let isInside =
        next < data.count && data[next].lowerBound <= start && end <= data[next].upperBound
      return isInside && member.plainLength > 0
        ? member
        : IndexedMember(
          packedLength: member.packedLength, plainLength: member.plainLength, digest: member.digest)
    }
  }
}

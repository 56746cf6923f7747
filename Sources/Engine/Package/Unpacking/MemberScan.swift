import HostedDigests
package import HostedModel

extension PackageIndex {
  /// The block length of a package that is indexed by blocks, in bytes.
  package static let standardBlockLength = 1 << 20

  /// Creates the index of `source`.
  ///
  /// `entries` come from its examination. The index is by members if these can be decoded
  /// separately. Otherwise it is by blocks and contains the reason.
  package init(indexing source: any ByteSource, entries: [IndexedFile]) throws {
    try self.init(
      of: source, entries: entries,
      payload: { try MemberScan.payload(of: source, entries: entries) },
      blocks: { try Self.blocks(of: source) })
  }

  /// Creates an index of `payload`, or of `blocks` if there is a reason against it.
  init(
    of source: any ByteSource, entries: [IndexedFile], payload: () throws -> PayloadIndex,
    blocks: () throws -> [Digest]
  ) throws {
    let obstacle: String
    do {
      self.init(packageLength: source.length, payload: try payload(), files: entries)
      if isConsistent { return }
      obstacle = "The index of members is inconsistent"
    } catch let found as MemberScan.Obstacle {
      obstacle = found.reason
    } catch is Finding {
      obstacle = "The format of the package is unknown"
    }
    self.init(
      packageLength: source.length, blockLength: Self.standardBlockLength, blocks: try blocks(),
      files: entries, obstacle: obstacle)
  }

  /// Creates an index with the digest of each block of `source`.
  package init(blocksOf source: any ByteSource, entries: [IndexedFile], obstacle: String) throws {
    self.init(
      packageLength: source.length, blockLength: Self.standardBlockLength,
      blocks: try Self.blocks(of: source), files: entries, obstacle: obstacle)
  }

  private static func blocks(of source: any ByteSource) throws -> [Digest] {
    let length = standardBlockLength
    return try stride(from: 0, to: source.length, by: length).map { offset in
      let block = try source.bytes(at: UInt64(offset), count: length)
      guard Int64(block.count) == min(Int64(length), source.length - offset) else {
        throw ContentError(
          .archiveDamaged,
          "The package was truncated while it was read: expected \(source.length) bytes",
          remedy: "Make sure that no other program writes to the package, and try again")
      }
      return try Digest(of: block)
    }
  }

  /// Throws the first rule that the index breaks.
  ///
  /// A signature does not make an index safe. The rules are those for the entries of an archive. As
  /// for an archive, the package's length limits the declared sizes.
  func check(name: String, limits: PackageLimits) throws {
    do {
      guard packageLength <= limits.packageLength else {
        throw Finding.limit(
          "limit-package",
          "The package has \(packageLength) bytes; the limit is \(limits.packageLength)"
        )
      }
      let limit = limits.plainLimit(packedLength: packageLength)
      guard installedSize <= limit else {
        throw Finding.limit(
          "limit-size", "The files have more than \(limit) bytes, the limit for this package")
      }
      var rules = EntryRules(limits: limits, isContent: true, expecting: files.count)
      for file in files {
        if let finding = rules.check(ArchiveEntry(file)).findings.first { throw finding }
        guard file.kind != .file || file.digest != nil else {
          throw Finding.damaged("“\(file.path)” has no digest in the index", path: file.path)
        }
      }
      let info = files.first { $0.path == ContentInfo.fileName && $0.kind == .file }
      guard let info else { throw Finding.contentInfoMissing }
      guard info.size <= ContentInfo.maximumLength else {
        throw Finding.limit(
          "limit-size", "ContentInfo.plist is longer than \(ContentInfo.maximumLength) bytes",
          path: info.path)
      }
    } catch let finding as Finding {
      throw finding.error(in: name)
    }
  }
}

extension ArchiveEntry {
  /// Converts an entry of an index, which records no permissions.
  fileprivate init(_ file: IndexedFile) {
    let kind: Kind =
      switch file.kind {
      case .file: .file
      case .directory: .directory
      case .link: .link(target: Array((file.target ?? "").utf8))
      }
    self.init(path: Array(file.path.utf8), kind: kind, permissions: 0, size: file.size)
  }
}

/// Finds the members of a flat product archive's payload, and the content of each member.
///
/// The boundaries of members are found by decoding them, as any other reader does. It takes the
/// members from the stream that decodes them, so that an examination needs no second pass. That
/// stream may run on another thread, which has ended when `layout` is called.
final class MemberScan {
  /// The reason why a package cannot be fetched by members.
  struct Obstacle: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  private var range: Range<Int64> = 0..<0
  private var cpio = CpioScanner()
  private var members: [IndexedMember] = []
  private var obstacle: Obstacle? = Obstacle("The package is not a flat product archive")

  /// Reads the payload of `source`, and returns its layout.
  ///
  /// `entries` come from the examination of the package. Throws `Obstacle` if the payload cannot be
  /// indexed, a finding if the package is damaged, and the errors of `source`.
  static func payload(of source: any ByteSource, entries: [IndexedFile]) throws -> PayloadIndex {
    let scan = MemberScan()
    if case .xar = try Container(source), let product = try FlatProduct(XarTable(source)) {
      scan.begin(product.payloadRange)
      try scan.readMembers(of: source)
    }
    return try scan.layout(of: entries)
  }

  private func readMembers(of source: any ByteSource) throws {
    guard obstacle == nil else { return }
    let stream = try GzipStream(SourceStream(source, range), members: self)
    do {
      while obstacle == nil, case .member = try stream.nextPart() {}
    } catch is Finding {
      // Then the members end before the payload.
    }
  }

  /// Starts with a payload in `range` of the package; nil if the package stores it encoded.
  func begin(_ range: Range<Int64>?) {
    self.range = range ?? 0..<0
    obstacle = self.range.isEmpty ? Obstacle("The payload is stored encoded") : nil
  }

  func add(_ packed: UnsafeRawBufferPointer, _ plain: UnsafeRawBufferPointer) throws {
    guard obstacle == nil else { return }
    do {
      try cpio.push(plain)
    } catch {
      obstacle = Obstacle("The payload is not a cpio archive")
      return
    }
    guard members.count < PayloadIndex.maximumCount else {
      obstacle = Obstacle("The payload has more than \(PayloadIndex.maximumCount) members")
      return
    }
    members.append(
      IndexedMember(
        packedLength: packed.count, plainLength: plain.count, digest: try Digest(of: packed),
        plainDigest: try Digest(of: plain)))
  }

  /// Returns the layout of the payload, whose members were all taken.
  ///
  /// `entries` come from the examination of the package. Throws `Obstacle` if the payload cannot be
  /// indexed, or if the result differs from that of libarchive.
  func layout(of entries: [IndexedFile]) throws -> PayloadIndex {
    if let obstacle { throw obstacle }
    guard members.reduce(0, { $0 + $1.packedLength }) == range.count else {
      throw Obstacle("The payload does not consist of gzip members of up to 1 MiB")
    }
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

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

extension PackageIndex {
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
/// The boundaries of members are found by decoding them, as any other reader does.
private struct MemberScan {
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

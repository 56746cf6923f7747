import ContentModel

/// Maps each gzip member to the parts of files that it contains; pure.
struct AssemblyPlan: Sendable {
  /// The bytes of one file in one member.
  struct Part: Sendable {
    let member: Int
    /// The file's number in the index.
    let file: Int
    let memberOffset: Int
    let fileOffset: Int64
    let length: Int
  }

  let index: PackageIndex
  let payload: PayloadIndex
  /// All parts, sorted by member and also by file, since both have the order of the payload.
  let parts: [Part]
  /// The parts of each member.
  let partsOfMember: [Range<Int>]
  /// The parts of each entry of the index; the range is empty for an entry without data.
  let partsOfFile: [Range<Int>]
  /// The start offset of each member in the package.
  let offsets: [Int64]

  /// Creates a plan; the index must be consistent, and its payload must be `payload`.
  init(_ index: PackageIndex, _ payload: PayloadIndex) {
    self.index = index
    self.payload = payload
    var parts: [Part] = []
    var partsOfMember: [Range<Int>] = []
    var partsOfFile = [Range<Int>](repeating: 0..<0, count: index.files.count)
    let withData = index.files.indices.filter { index.files[$0].size > 0 }
    var offset = payload.offset
    var offsets: [Int64] = []
    var start: Int64 = 0
    var next = 0
    for (number, member) in payload.members.enumerated() {
      let end = start + Int64(member.plainLength)
      let first = parts.count
      var look = next
      while look < withData.count {
        let file = withData[look]
        let data = payload.dataOffsets[file]..<(payload.dataOffsets[file] + index.files[file].size)
        guard data.lowerBound < end else { break }
        let (from, to) = (max(start, data.lowerBound), min(end, data.upperBound))
        if from < to {
          let known = partsOfFile[file]
          partsOfFile[file] = (known.isEmpty ? parts.count : known.lowerBound)..<(parts.count + 1)
          parts.append(
            Part(
              member: number, file: file, memberOffset: Int(from - start),
              fileOffset: from - data.lowerBound, length: Int(to - from)))
        }
        // A file that continues in the next member is visited again there.
        if data.upperBound > end { break }
        look += 1
      }
      next = look
      partsOfMember.append(first..<parts.count)
      offsets.append(offset)
      offset += Int64(member.packedLength)
      start = end
    }
    self.parts = parts
    self.partsOfMember = partsOfMember
    self.partsOfFile = partsOfFile
    self.offsets = offsets
  }

  /// Whether one member contains the whole file, so that it is written at once.
  func isSmall(_ file: Int) -> Bool { partsOfFile[file].count == 1 }

  /// Returns the SHA-256 digest of a part, or nil if the index does not record one.
  func digest(ofPart number: Int) -> Digest? {
    let part = parts[number]
    let member = payload.members[part.member]
    return part.length == member.plainLength ? member.plainDigest : nil
  }

  /// Throws the first rule that the index breaks.
  ///
  /// A signature does not make an index safe. The rules are those for the entries of an archive. As
  /// for an archive, the package's length limits the declared sizes.
  static func check(_ index: PackageIndex, name: String, limits: PackageLimits) throws {
    do {
      guard index.packageLength <= limits.packageLength else {
        throw Finding.limit(
          "limit-package",
          "The package has \(index.packageLength) bytes; the limit is \(limits.packageLength)"
        )
      }
      let limit = limits.plainLimit(packedLength: index.packageLength)
      guard index.installedSize <= limit else {
        throw Finding.limit(
          "limit-size", "The files have more than \(limit) bytes, the limit for this package")
      }
      var rules = EntryRules(limits: limits, isContent: true, expecting: index.files.count)
      for file in index.files {
        if let finding = rules.check(ArchiveEntry(file)).findings.first { throw finding }
        guard file.kind != .file || file.digest != nil else {
          throw Finding.damaged("“\(file.path)” has no digest in the index", path: file.path)
        }
      }
      let info = index.files.first { $0.path == ContentInfo.fileName && $0.kind == .file }
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
  /// Converts an entry of an index to an entry of an archive.
  ///
  /// Permissions are not recorded.
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

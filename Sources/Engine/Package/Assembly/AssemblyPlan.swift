package import HostedModel

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
}

extension PackageIndex {
  /// The maximum bytes of members that an update from unchanged files of `old` fetches.
  ///
  /// Nil if this index has no members, so that the whole package is fetched. Pure. An update reads
  /// the installed files, so it can also find pieces that `old` does not list, such as in a file
  /// that was changed without changing its length.
  package func bytesToFetch(updating old: PackageIndex) -> Int64? {
    guard let payload, isConsistent else { return nil }
    let plan = AssemblyPlan(self, payload)
    let installed = InstalledPieces(old)
    var isLocal = [Bool](repeating: false, count: plan.parts.count)
    for (number, file) in files.enumerated() {
      let hasFile = file.digest.map(installed.files.contains) ?? false
      // Like in `PieceFinder`: pieces are only looked for in large files.
      guard hasFile || !plan.isSmall(number) else { continue }
      let pieces = installed.pieces[Array(file.path.utf8)] ?? []
      for part in plan.partsOfFile[number] {
        isLocal[part] = hasFile || plan.digest(ofPart: part).map(pieces.contains) ?? false
      }
    }
    return PackageSurvey.missing(plan, isLocal).reduce(0) { $0 + Int64($1.length) }
  }
}

/// The files of an installed package and their pieces, as its index lists them.
private struct InstalledPieces {
  private(set) var files: Set<Digest> = []
  /// The pieces of the file at each path; keys are bytes, since other bytes can be an equal string.
  private(set) var pieces: [[UInt8]: Set<Digest>] = [:]

  init(_ index: PackageIndex) {
    let plan = index.isConsistent ? index.payload.map { AssemblyPlan(index, $0) } : nil
    for (number, file) in index.files.enumerated() {
      guard let digest = file.digest else { continue }
      files.insert(digest)
      let parts = plan?.partsOfFile[number] ?? 0..<0
      // A file that was not cut is one piece.
      pieces[Array(file.path.utf8)] = Set(parts.compactMap { plan?.digest(ofPart: $0) } + [digest])
    }
  }
}

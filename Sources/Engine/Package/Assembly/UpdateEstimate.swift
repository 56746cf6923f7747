package import HostedModel

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

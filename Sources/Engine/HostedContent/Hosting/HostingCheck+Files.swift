import ContentModel
import ContentTransfer
import ContentTrust
import Digests

/// The files of the signed catalog.
extension HostingCheck {
  /// The number of packages, and of other files, that are compared by default.
  private static let sampleSize = 16
  /// The maximum length of a file that is compared in memory, in bytes.
  private static let memoryLimit: Int64 = 64 << 20
  /// The length of the ranges of a whole package, in bytes.
  private static let rangeLength: Int64 = 4 << 20
  /// Packages of at most this length are compared as a whole.
  private static let smallLength: Int64 = 256 << 10

  /// A file of the catalog and its path below the store.
  private struct Target {
    let name: String
    let path: String
    let file: TargetFile
  }

  /// A part of a package, with its signed digest if it is known.
  private struct Part {
    let range: Range<Int64>
    let digest: Digest?
  }

  /// Compares some or all files with their signed lengths and digests.
  mutating func checkFiles(of role: TargetsRole, isConsistent: Bool) throws {
    func entry(_ name: String) -> Target? {
      role.targets[name].map { file in
        let paths = TrustedTargets.storePaths(of: name, file, consistent: isConsistent)
        return Target(name: name, path: paths.first ?? name, file: file)
      }
    }
    let names = role.targets.keys.sorted()
    report.catalogFiles = names.count
    let packages = sample(names.filter { StoreTargetName.kind(of: $0) == .package })
    var indexes: Set<String> = []
    for (number, name) in packages.enumerated() {
      guard let package = entry(name) else { continue }
      let indexName = StoreTargetName.index(ofPackage: name)
      var index: PackageIndex?
      if let target = entry(indexName) {
        indexes.insert(indexName)
        let bytes = try compareWhole(target)
        index = bytes.flatMap { try? PackageIndex(encoded: $0) }
        if number == 0, bytes != nil { try checkCompression(target) }
      }
      try checkPackage(package, index, isFirst: number == 0)
    }
    let others = names.filter { ![.package, .index].contains(StoreTargetName.kind(of: $0)) }
    let orphans =
      comparesAll
      ? names.filter { StoreTargetName.kind(of: $0) == .index && !indexes.contains($0) } : []
    for name in sample(others) + orphans {
      if let target = entry(name) { _ = try compareWhole(target) }
    }
    if let product = names.first?.split(separator: "/").first {
      try checkListing("targets/", has: String(product))
    }
  }

  /// Returns names from the whole list, at even distances.
  private func sample(_ names: [String]) -> [String] {
    guard !comparesAll, names.count > Self.sampleSize else { return names }
    return (0..<Self.sampleSize).map { names[$0 * names.count / Self.sampleSize] }
  }

  /// Fetches a file, compares it, and returns its bytes; nil after a finding.
  private mutating func compareWhole(_ target: Target) throws -> [UInt8]? {
    guard target.file.length <= Self.memoryLimit else {
      report.add(
        HostingFinding(
          .note, .notCompared, target.path,
          "\(target.path) was not compared as a whole, because it is longer than "
            + "\(Self.memoryLimit) bytes and cannot be fetched in parts",
          remedy: "Compare the file on the server"))
      return nil
    }
    report.comparedFiles += 1
    let (length, path) = (target.file.length, target.path)
    guard let bytes = try contents(of: path, length: length, limit: length),
      try isAccepted(path, { try target.file.check(bytes, of: target.name) })
    else { return nil }
    return bytes
  }

  private mutating func checkCompression(_ target: Target) throws {
    let answer = try answer(
      for: target.path, headers: [HTTPHeader("Accept-Encoding", "gzip")], limit: 1)
    if let finding = HostingRules.compression(answer, target.path) { report.add(finding) }
  }

  // MARK: Packages

  private mutating func checkPackage(
    _ target: Target, _ index: PackageIndex?, isFirst: Bool
  ) throws {
    let (path, length) = (target.path, target.file.length)
    let parts = Self.parts(of: target.file, index)
    guard let first = parts.first else {
      _ = try compareWhole(target)
      return
    }
    let answer = try answer(for: path, range: first.range)
    if let finding = HostingRules.file(answer, path)
      ?? HostingRules.length(answer, path, expected: length)
    {
      report.add(finding)
      return
    }
    for case let finding? in [
      HostingRules.type(answer, path), HostingRules.validators(answer, path),
    ] {
      report.add(finding)
    }
    if isFirst {
      try checkCompression(target)
      let head = try self.answer(for: path, limit: 0, isHead: true)
      if let finding = HostingRules.head(head, path, length: length) { report.add(finding) }
    }
    if let finding = HostingRules.range(answer, path, first.range, length: length) {
      report.add(finding)
      _ = try compareWhole(target)
      return
    }
    report.comparedFiles += 1
    if comparesAll {
      try compareAll(target)
      return
    }
    guard isEqual(answer, first, path) else { return }
    for part in parts.dropFirst() {
      let answer = try self.answer(for: path, range: part.range)
      if let finding = HostingRules.file(answer, path)
        ?? HostingRules.range(answer, path, part.range, length: length)
      {
        report.add(finding)
        return
      }
      guard isEqual(answer, part, path) else { return }
    }
  }

  /// Returns the answer for a part of `path`.
  private mutating func answer(for path: String, range: Range<Int64>) throws -> HTTPProbeAnswer {
    let header = HTTPHeader("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
    return try answer(for: path, headers: [header], limit: Int64(range.count))
  }

  /// Returns whether the answer has the bytes of `part`; adds a finding if it does not.
  private mutating func isEqual(_ answer: HTTPProbeAnswer, _ part: Part, _ path: String) -> Bool {
    if let finding = HostingRules.connection(answer, path) {
      report.add(finding)
      return false
    }
    let isEqual =
      answer.body.count == part.range.count && !answer.isCut
      && (part.digest == nil || (try? Digest(of: answer.body)) == part.digest)
    if !isEqual {
      let range = "\(part.range.lowerBound) to \(part.range.upperBound - 1)"
      report.add(HostingRules.wrongBytes(path, from: "its signed digest in bytes \(range)"))
    }
    return isEqual
  }

  /// Fetches all parts of a package, and compares its digest.
  private mutating func compareAll(_ target: Target) throws {
    var hashing = FileHashing(target.file.hashes)
    let (path, length) = (target.path, target.file.length)
    for start in stride(from: 0, to: length, by: Int(Self.rangeLength)) {
      let part = Part(range: start..<min(start + Self.rangeLength, length), digest: nil)
      let answer = try answer(for: path, range: part.range)
      if let finding = HostingRules.file(answer, path) {
        report.add(finding)
        return
      }
      guard isEqual(answer, part, path) else { return }
      try answer.body.withUnsafeBytes { try hashing.update($0) }
    }
    if try hashing.difference() != nil { report.add(HostingRules.wrongBytes(path)) }
  }

  /// Returns the first and the last part of a package that have digests.
  private static func parts(of file: TargetFile, _ index: PackageIndex?) -> [Part] {
    guard file.length > 0 else { return [] }
    if file.length <= smallLength, let digest = file.digest {
      return [Part(range: 0..<file.length, digest: digest)]
    }
    guard let index, index.packageLength == file.length else {
      return [Part(range: 0..<min(file.length, smallLength), digest: nil)]
    }
    if let payload = index.payload {
      guard let first = payload.members.first, let last = payload.members.last else {
        return [Part(range: 0..<min(file.length, smallLength), digest: nil)]
      }
      let end = payload.offset + payload.packedLength
      return [
        Part(
          range: payload.offset..<(payload.offset + Int64(first.packedLength)),
          digest: first.digest),
        Part(range: (end - Int64(last.packedLength))..<end, digest: last.digest),
      ]
    }
    return Set([0, index.blocks.count - 1]).sorted().map {
      Part(range: index.range(ofBlock: $0), digest: index.blocks[$0])
    }
  }
}

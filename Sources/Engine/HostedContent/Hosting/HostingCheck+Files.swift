import HostedHTTPValues
import HostedModel
import HostedTransfer
import HostedTrust
import HostedDigests

/// A file that signed metadata or a signed record names.
struct HostedFile {
  /// The path below the store.
  let path: String
  let file: TargetFile
}

extension HostedFile {
  init(_ file: SignedFile) {
    self.init(path: file.path, file: TargetFile(length: file.length, digest: file.digest))
  }
}

/// Comparing files with their signed lengths and digests.
extension HostingCheck {
  /// The maximum length of a file that is compared in memory, in bytes.
  private static let memoryLimit: Int64 = 64 << 20
  /// The length of the ranges of a whole package, in bytes.
  private static let rangeLength: Int64 = 4 << 20
  /// Packages of at most this length are compared as a whole.
  private static let smallLength: Int64 = 256 << 10

  /// A part of a package, with its signed digest if it is known.
  private struct Part {
    let range: Range<Int64>
    let digest: Digest?
  }

  /// Compares the index and the archive of a version.
  ///
  /// For the first one, also examines compression and HEAD.
  mutating func checkContent(of offer: ContentOffer, isFirst: Bool) throws {
    let index = HostedFile(offer.index)
    let bytes = try compareWhole(index)
    if isFirst, bytes != nil { try checkCompression(index) }
    try checkPackage(
      HostedFile(offer.package), bytes.flatMap { try? PackageIndex(encoded: $0) },
      isFirst: isFirst)
  }

  /// Fetches a file, compares it, and returns its bytes; nil after a finding.
  ///
  /// Caches should keep metadata that `neverChanges`.
  mutating func compareWhole(_ listed: HostedFile, neverChanges: Bool = false) throws -> [UInt8]? {
    let (path, length) = (listed.path, listed.file.length)
    guard length <= Self.memoryLimit else {
      report.add(
        HostingFinding(
          .note, .notCompared, path,
          "\(path) was not compared as a whole, because it is longer than "
            + "\(Self.memoryLimit) bytes and cannot be fetched in parts",
          remedy: "Compare the file on the server"))
      return nil
    }
    report.comparedFiles += 1
    guard
      let bytes = try contents(
        of: path, length: length, limit: length, neverChanges: neverChanges),
      try isAccepted(path, { try listed.file.check(bytes, of: path) })
    else { return nil }
    return bytes
  }

  /// Examines whether the server compresses the file for programs that accept it.
  mutating func checkCompression(_ listed: HostedFile) throws {
    let answer = try answer(
      for: listed.path, headers: [HTTPHeader("Accept-Encoding", "gzip")], limit: 1)
    report.add(HostingRules.compression(answer, listed.path))
  }

  // MARK: Packages

  private mutating func checkPackage(
    _ listed: HostedFile, _ index: PackageIndex?, isFirst: Bool
  ) throws {
    let (path, length) = (listed.path, listed.file.length)
    let parts = Self.parts(of: listed.file, index)
    guard let first = parts.first else {
      _ = try compareWhole(listed)
      return
    }
    let answer = try answer(for: path, range: first.range)
    let wrongFile =
      HostingRules.file(answer, path) ?? HostingRules.length(answer, path, expected: length)
    if report.add(wrongFile) { return }
    report.add(HostingRules.type(answer, path))
    report.add(HostingRules.validators(answer, path))
    if isFirst {
      try checkCompression(listed)
      let head = try self.answer(for: path, limit: 0, isHead: true)
      report.add(HostingRules.head(head, path, length: length))
    }
    if report.add(HostingRules.range(answer, path, first.range, length: length)) {
      _ = try compareWhole(listed)
      return
    }
    report.comparedFiles += 1
    if comparesAll {
      try compareAll(listed)
      return
    }
    guard isEqual(answer, first, path) else { return }
    for part in parts.dropFirst() {
      let answer = try self.answer(for: path, range: part.range)
      let wrongPart =
        HostingRules.file(answer, path)
        ?? HostingRules.range(answer, path, part.range, length: length)
      if report.add(wrongPart) { return }
      guard isEqual(answer, part, path) else { return }
    }
  }

  /// Returns the answer for a part of `path`.
  private mutating func answer(for path: String, range: Range<Int64>) throws -> TransferResponse {
    let header = HTTPHeader("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
    return try answer(for: path, headers: [header], limit: Int64(range.count))
  }

  /// Returns whether the answer has the bytes of `part`; adds a finding if it does not.
  private mutating func isEqual(_ answer: TransferResponse, _ part: Part, _ path: String) -> Bool {
    if report.add(HostingRules.connection(answer, path)) { return false }
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
  private mutating func compareAll(_ listed: HostedFile) throws {
    var hashing = FileHashing(listed.file.hashes)
    let (path, length) = (listed.path, listed.file.length)
    for start in stride(from: 0, to: length, by: Int(Self.rangeLength)) {
      let part = Part(range: start..<min(start + Self.rangeLength, length), digest: nil)
      let answer = try answer(for: path, range: part.range)
      if report.add(HostingRules.file(answer, path)) { return }
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
    let start = [Part(range: 0..<min(file.length, smallLength), digest: nil)]
    guard let index, index.packageLength == file.length else { return start }
    guard let payload = index.payload else {
      return Set([0, index.blocks.count - 1]).sorted().map {
        Part(range: index.range(ofBlock: $0), digest: index.blocks[$0])
      }
    }
    guard let first = payload.members.first, let last = payload.members.last else { return start }
    let end = payload.offset + payload.packedLength
    return [
      Part(
        range: payload.offset..<(payload.offset + Int64(first.packedLength)),
        digest: first.digest),
      Part(range: (end - Int64(last.packedLength))..<end, digest: last.digest),
    ]
  }
}

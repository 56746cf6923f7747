import HostedModel

/// A flat product archive: finds the payload of its component in the xar.
///
/// Source: productbuild(1), `--content`.
struct FlatProduct {
  private let payloadPath: String
  /// The range of the payload in the xar, or nil if the xar stores it encoded.
  let payloadRange: Range<Int64>?
  let findings: [Finding]

  private let checksum: FileChecksum.Expected?

  /// Returns nil for another kind of xar; throws a finding unless it has exactly one payload.
  init?(_ table: XarTable) throws {
    let payloads = table.files.filter { Self.isComponent($0, named: "Payload") }
    let hasDistribution = table.files.contains { $0.path == "Distribution" }
    guard hasDistribution || !payloads.isEmpty else { return nil }
    guard let payload = payloads.first, payloads.count == 1 else {
      throw Finding.format(
        "payload-count", "The product archive has \(payloads.count) payloads, expected 1",
        remedy: "Build it from one content folder, for example with productbuild --content")
    }
    payloadPath = payload.path
    payloadRange = payload.storedRange
    checksum = payload.checksum
    findings = table.files.filter { Self.isComponent($0, named: "Scripts") }.map { scripts in
      Finding(
        path: scripts.path, rule: "executable-scripts",
        message: "“\(scripts.path)” contains installer scripts",
        remedy: "Build the package without scripts. Hosted content must not contain executable "
          + "code",
        code: .executableContent)
    }
  }

  /// Returns whether the file is `name` in the folder of a component, or at the root.
  private static func isComponent(_ file: XarTable.File, named name: String) -> Bool {
    guard file.path.hasSuffix(name) else { return false }
    let components = file.path.pathComponents()
    return switch components.count {
    case 1: components[0] == name
    case 2: components[1] == name && components[0].hasSuffix(".pkg")
    default: false
    }
  }

  /// Returns the bytes of the payload's cpio archive, and the check at their end.
  ///
  /// The check reads the rest and compares the checksum. If the payload is stored uncompressed, its
  /// bytes are read from `source`. Throws a finding if the payload, which a xar can compress, has
  /// more than `limit` bytes. A separate thread reads the compressed bytes and computes their
  /// checksum. `members` takes the members of the payload.
  func openPayload(
    _ stream: SourceStream, _ source: any ByteSource, limit: Int64, members: MemberScan?
  ) throws -> (plain: any ByteStream, checkRest: () throws -> Void) {
    let outer = try ArchiveReader(stream, format: .xar)
    while let entry = try outer.next() {
      guard String(decoding: entry.path ?? [], as: UTF8.self) == payloadPath, entry.kind == .file
      else { continue }
      // libarchive would compute two digests and compare neither.
      let stored = payloadRange.flatMap { range in
        entry.size == Int64(range.count) ? SourceStream(source, range) : nil
      }
      members?.begin(stored == nil ? nil : payloadRange)
      let payload = MeteredStream(stored ?? ArchiveStream(outer, of: source.length), limit: limit)
      var checksum = checksum.map { FileChecksum($0, of: payloadPath) }
      let data = ScannedStream(payload) { try checksum?.update($0) }
      let packed = ReadAheadStream.ifPossible(data)
      let plain = try plainPayload(packed, members)
      return (
        plain,
        {
          try packed.skipRest()
          try data.skipRest()
          try checksum?.check()
        }
      )
    }
    throw Finding.damaged(
      "“\(payloadPath)” not found, although the archive lists it", path: payloadPath)
  }

  private func plainPayload(_ packed: any ByteStream, _ members: MemberScan?) throws
    -> any ByteStream
  {
    let first = try packed.next()
    let whole = ReplayStream(first, then: packed)
    if first.starts(with: [0x1f, 0x8b]) { return try GzipStream(whole, members: members) }
    if first.starts(with: Container.cpioMark) { return whole }
    if first.starts(with: PbzxStream.magic) { return try PbzxStream(whole) }
    throw Finding.damaged("The payload is not in gzip, pbzx or cpio format", path: payloadPath)
  }
}

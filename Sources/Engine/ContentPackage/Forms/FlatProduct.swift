import ContentModel

/// A flat product archive: where in the xar its one component's payload lies.
///
/// Source: productbuild(1), `--content`.
struct FlatProduct {
  /// The payload's path in the xar.
  let payloadPath: String
  /// Where the payload's bytes lie in the xar; nil when the xar holds them encoded.
  let payloadRange: Range<Int64>?
  let findings: [Finding]

  private let checksum: FileChecksum.Expected?

  /// Nil when the xar is no flat product archive; a refusal when it has not exactly one payload.
  init?(_ table: XarTable) throws {
    let payloads = table.files.filter { Self.isComponent($0, named: "Payload") }
    let hasDistribution = table.files.contains { $0.path == "Distribution" }
    guard hasDistribution || !payloads.isEmpty else { return nil }
    guard let payload = payloads.first, payloads.count == 1 else {
      throw Refusal.form(
        "payload-count", "The product archive has \(payloads.count) payloads, not one",
        remedy:
          "Build it from one content folder, with productbuild --content or the package command")
    }
    payloadPath = payload.path
    payloadRange = payload.storedRange
    checksum = payload.checksum
    findings = table.files.filter { Self.isComponent($0, named: "Scripts") }
      .map { Self.scriptsFinding($0.path) }
  }

  /// Whether the file `name` lies in a component's folder, or at the root of a component on its
  /// own.
  private static func isComponent(_ file: XarTable.File, named name: String) -> Bool {
    guard file.path.hasSuffix(name) else { return false }
    let components = file.path.pathComponents()
    return switch components.count {
    case 1: components[0] == name
    case 2: components[1] == name && components[0].hasSuffix(".pkg")
    default: false
    }
  }

  private static func scriptsFinding(_ path: String) -> Finding {
    Finding(
      path: path, rule: "executable-scripts", message: "“\(path)” holds installer scripts",
      remedy: "Build the package without scripts: hosted content has no executable code",
      code: .executableContent)
  }

  /// Opens the payload, whose bytes are read from `source` where they lie in it as they are.
  ///
  /// Refused when the payload itself, which a xar may hold compressed, has more than `limit` bytes.
  /// A thread of its own reads the packed bytes and computes their checksum.
  func openPayload(
    _ stream: SourceStream, _ source: any ByteSource, limit: Int64
  ) throws -> OpenPayload {
    let outer = try ArchiveReader(stream, format: .xar)
    while let entry = try outer.next() {
      guard String(decoding: entry.path ?? [], as: UTF8.self) == payloadPath, entry.kind == .file
      else { continue }
      // libarchive would hash them twice and compare neither digest.
      let stored = payloadRange.flatMap { range in
        entry.size == Int64(range.count) ? StoredData(source, range) : nil
      }
      let data = EntryStream(
        stored ?? outer, path: payloadPath, limit: limit,
        checksum: checksum.map { FileChecksum($0) })
      let packed = ReadAheadStream.ifPossible(data)
      return OpenPayload(data: data, packed: packed, plain: try plainPayload(packed))
    }
    throw Refusal.damaged("“\(payloadPath)” is listed but not there", path: payloadPath)
  }

  private func plainPayload(_ packed: any ByteStream) throws -> any ByteStream {
    let first = try packed.next()
    let whole = ReplayStream(first, then: packed)
    if first.starts(with: [0x1f, 0x8b]) { return try GzipStream(whole) }
    if first.starts(with: Array("07070".utf8)) { return whole }
    if first.starts(with: PbzxStream.magic) { return try PbzxStream(whole) }
    throw Refusal.damaged("The payload is neither gzip, pbzx nor cpio", path: payloadPath)
  }
}

/// A payload that is read; for one thread.
struct OpenPayload {
  fileprivate let data: EntryStream
  fileprivate let packed: any ByteStream
  /// The bytes of its cpio archive.
  let plain: any ByteStream

  /// Reads what is left and compares the checksum; when `plain` was read to its end.
  func finish() throws {
    while try !packed.next().isEmpty {}
    try data.finish()
  }
}

extension XarTable {
  /// The checksum of each file whose path is there once.
  var checksums: [String: FileChecksum.Expected] {
    let known = files.compactMap { file in
      file.checksum.map { (file.path, $0) }
    }
    // Two files of one path are refused anyway; the first one's checksum will do until then.
    return Dictionary(known, uniquingKeysWith: { first, _ in first })
  }
}

import ContentModel

/// What is done with the entries of a package as they come.
protocol EntryVisitor: AnyObject {
  /// Told each broken rule; throws to stop at it.
  func refuse(_ finding: Finding) throws
  /// An entry that keeps the rules of paths and types begins.
  func begin(_ entry: CheckedEntry) throws
  /// The next bytes of a file that has begun.
  func add(_ bytes: UnsafeRawBufferPointer) throws
  /// The entry that has begun is complete.
  func end(_ entry: CheckedEntry) throws
}

/// Reads a package once from beginning to end, applying every rule on the way.
struct PackageWalk {
  private let reader: PackageReader
  private let visitor: any EntryVisitor
  private let isContent: Bool
  private let plainLimit: Int64
  private var rules: EntryRules
  private var plainTotal: Int64 = 0

  /// How the package is written.
  var form: PackageForm { reader.form }

  /// Opens the package; a refusal when it cannot be read at all.
  init(
    _ source: any ByteSource, limits: PackageLimits, isContent: Bool,
    visitor: any EntryVisitor
  ) throws {
    reader = try PackageReader(source, limits: limits)
    rules = EntryRules(limits: limits, isContent: isContent)
    plainLimit = limits.plainLimit(packedLength: source.length)
    self.isContent = isContent
    self.visitor = visitor
  }

  /// Walks all entries; a refusal when the archive is damaged or exceeds a limit.
  mutating func run() throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    for finding in reader.containerFindings { try visitor.refuse(finding) }
    while let header = try reader.next() {
      let verdict = rules.check(header)
      for finding in verdict.findings {
        // Reading on would only repeat this one for each entry that follows.
        if ["limit-entries", "limit-paths"].contains(finding.rule) { throw Refusal(finding) }
        try visitor.refuse(finding)
      }
      if let entry = verdict.entry { try visitor.begin(entry) }
      if header.kind == .file {
        try readFile(header, verdict, buffer)
      } else {
        try readNothing(verdict, buffer)
      }
      if let entry = verdict.entry { try visitor.end(entry) }
    }
  }

  private mutating func readFile(
    _ header: ArchiveEntry, _ verdict: EntryRules.Verdict, _ buffer: UnsafeMutableRawBufferPointer
  ) throws {
    let path = verdict.shown
    try checkTotal(plainTotal.addingReportingOverflow(header.size ?? 0), path)
    var count: Int64 = 0
    while true {
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<(try reader.read(into: buffer))])
      if bytes.isEmpty { break }
      // A piece is shorter than the buffer only at the end, so the first one holds any magic.
      if isContent, count == 0, let kind = ExecutableCode.kind(of: bytes) {
        try visitor.refuse(ExecutableCode.finding(kind, path: path))
      }
      count += Int64(bytes.count)
      plainTotal += Int64(bytes.count)
      try checkTotal((plainTotal, false), path)
      if let size = header.size, count > size { throw Self.lyingSize(path, size, count) }
      if verdict.entry != nil { try visitor.add(bytes) }
    }
    if let size = header.size, count != size { throw Self.lyingSize(path, size, count) }
  }

  /// Folders and links have no data of their own.
  private func readNothing(_ verdict: EntryRules.Verdict, _ buffer: UnsafeMutableRawBufferPointer)
    throws
  {
    guard try reader.read(into: buffer) == 0 else {
      // What nobody asks for is not read to its end, which may be far away.
      let message = "“\(verdict.shown)” is no regular file and yet carries data"
      throw Refusal(PathRules.finding("entry-data", message, path: verdict.shown))
    }
    try reader.skipData()
  }

  private func checkTotal(_ total: (partialValue: Int64, overflow: Bool), _ path: String) throws {
    guard !total.overflow, total.partialValue <= plainLimit else {
      throw Refusal.limit(
        "limit-size", "The files have more than the \(plainLimit) bytes allowed for this package",
        path: path)
    }
  }

  private static func lyingSize(_ path: String, _ promised: Int64, _ found: Int64) -> Refusal {
    let more = found > promised ? "at least " : ""
    return .damaged("“\(path)” has \(more)\(found) bytes, not \(promised) as said", path: path)
  }
}

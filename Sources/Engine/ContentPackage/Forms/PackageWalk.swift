import ContentModel

/// Receives the entries of a package as they are read.
protocol EntryVisitor: AnyObject {
  /// Receives a broken rule; throws to stop.
  func refuse(_ finding: Finding) throws
  /// Starts an entry that keeps the rules of paths and types.
  func begin(_ entry: CheckedEntry) throws
  /// Adds bytes to the current file.
  func add(_ bytes: UnsafeRawBufferPointer) throws
  /// Ends the current entry.
  func end(_ entry: CheckedEntry) throws
}

/// Reads a package once from start to end, and applies all rules.
struct PackageWalk {
  private let reader: PackageReader
  private let visitor: any EntryVisitor
  private let isContent: Bool
  private let packedLength: Int64
  private let plainLimit: Int64
  private var rules: EntryRules
  private var plainTotal: Int64 = 0

  var form: PackageForm { reader.form }

  /// Opens the package; throws a refusal if it cannot be read at all.
  init(
    _ source: any ByteSource, limits: PackageLimits, isContent: Bool,
    visitor: any EntryVisitor
  ) throws {
    reader = try PackageReader(source, limits: limits)
    rules = EntryRules(limits: limits, isContent: isContent)
    packedLength = source.length
    plainLimit = limits.plainLimit(packedLength: packedLength)
    self.isContent = isContent
    self.visitor = visitor
  }

  /// Reads all entries; throws a refusal if the archive is damaged or exceeds a limit.
  mutating func run() throws {
    let buffer = UnsafeMutableRawBufferPointer.forReading(packedLength)
    defer { buffer.deallocate() }
    for finding in reader.containerFindings { try visitor.refuse(finding) }
    while let header = try reader.next() {
      let verdict = rules.check(header)
      for finding in verdict.findings {
        // Stop here, since this finding would repeat for each entry that follows.
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
      // Only the last read is shorter than the buffer, so the first one contains any magic number.
      if isContent, count == 0, let kind = ExecutableCode.kind(of: bytes) {
        try visitor.refuse(ExecutableCode.finding(kind, path: path))
      }
      count += Int64(bytes.count)
      plainTotal += Int64(bytes.count)
      try checkTotal((plainTotal, false), path)
      if let size = header.size, count > size { throw Self.sizeMismatch(path, size, count) }
      if verdict.entry != nil { try visitor.add(bytes) }
    }
    if let size = header.size, count != size { throw Self.sizeMismatch(path, size, count) }
  }

  /// Checks that a folder or a link has no data.
  private func readNothing(_ verdict: EntryRules.Verdict, _ buffer: UnsafeMutableRawBufferPointer)
    throws
  {
    guard try reader.read(into: buffer) == 0 else {
      // Do not read data that are not needed to their end, which may be far away.
      let message = "“\(verdict.shown)” is not a regular file but has data"
      throw Refusal(PathRules.finding("entry-data", message, path: verdict.shown))
    }
    try reader.skipData()
  }

  private func checkTotal(_ total: (partialValue: Int64, overflow: Bool), _ path: String) throws {
    guard !total.overflow, total.partialValue <= plainLimit else {
      throw Refusal.limit(
        "limit-size", "The files have more than \(plainLimit) bytes, the limit for this package",
        path: path)
    }
  }

  private static func sizeMismatch(_ path: String, _ promised: Int64, _ found: Int64) -> Refusal {
    let more = found > promised ? "at least " : ""
    return .damaged("“\(path)” has \(more)\(found) bytes, expected \(promised)", path: path)
  }
}

import ContentModel
import FileIO

/// Writes what a walk finds, and stops at the first refusal or difference from the promise.
final class Unpacker: EntryVisitor {
  private let name: String
  private let isContent: Bool
  private let promise: UnpackPromise?
  private let promised: [String: IndexedFile]?
  private let writer: PartWriter
  private let progress: (Int64) throws -> Void

  private var collector: EntryCollector
  /// What the files are that were written completely.
  private(set) var identities: [String: FileIdentity] = [:]
  // Files with more than one name: each new name changes the inode, and with it the identity.
  private var linkedPaths: Set<String> = []

  /// `progress` is told the plain bytes that `writer` has written.
  init(
    name: String, writer: PartWriter, isContent: Bool, promise: UnpackPromise?,
    progress: @escaping (Int64) throws -> Void
  ) {
    self.name = name
    self.isContent = isContent
    self.promise = promise
    self.progress = progress
    promised = promise?.entries.map {
      Dictionary($0.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    }
    self.writer = writer
    collector = EntryCollector(isContent: isContent)
  }

  func refuse(_ finding: Finding) throws { throw Refusal(finding) }

  func begin(_ entry: CheckedEntry) throws {
    collector.begin(entry)
    try checkPromised(entry)
    try writer.begin(entry)
    if case .hardLink(let source) = entry.kind {
      linkedPaths.formUnion([entry.path, source.joined(separator: "/")])
    }
  }

  func add(_ bytes: UnsafeRawBufferPointer) throws {
    try writer.add(bytes)
    try collector.add(bytes)
    try progress(writer.written)
  }

  func end(_ entry: CheckedEntry) throws {
    if case .file = entry.kind {
      identities[entry.path] = try writer.end()
    }
    let made: IndexedFile
    do {
      made = try collector.end(entry)
    } catch let error as ContentError where error.code == .contentInfoInvalid {
      throw ContentError(
        error.code, "\(name): \(error.message)", remedy: error.remedy, subject: name,
        cause: error.cause)
    }
    try checkInfo()
    if let promised, promised[entry.path] != made { throw difference(entry.path, "differs from") }
  }

  /// Every entry by path; throws when something promised is missing.
  func finish() throws -> [InstalledFile] {
    let entries = try complete()
    for path in linkedPaths { identities[path] = try writer.identity(ofFileAt: path) }
    return entries.map { InstalledFile(entry: $0, identity: identities[$0.path]) }
  }

  /// Every entry by path, whether it was written or not; throws when something promised is missing.
  func complete() throws -> [IndexedFile] {
    if isContent, collector.info == nil { throw Refusal(.contentInfoMissing) }
    let entries = collector.entries.sorted(by: IndexedFile.isOrdered)
    if let expected = promise?.entries, expected.count != entries.count {
      let found = Set(entries.map(\.path))
      let missing = expected.first { !found.contains($0.path) }
      throw difference(missing?.path ?? "an entry", "is missing, against")
    }
    return entries
  }

  // MARK: The promise

  /// Refuses what was not promised before anything of it is written.
  private func checkPromised(_ entry: CheckedEntry) throws {
    guard let promised else { return }
    for folder in entry.impliedFolders where promised[folder]?.kind != .directory {
      throw difference(folder, "is not in")
    }
    guard let known = promised[entry.path] else { throw difference(entry.path, "is not in") }
    // ContentInfo.plist is read first, since a wrong product or version says more.
    if isContent, entry.path == ContentInfo.fileName { return }
    guard known.kind == entry.indexedKind else { throw difference(entry.path, "differs from") }
    if case .file = entry.kind, let size = entry.size, size != known.size {
      throw difference(entry.path, "differs from")
    }
  }

  private func checkInfo() throws {
    guard let promise, let info = collector.info else { return }
    try promise.check(info, in: name)
  }

  private func difference(_ path: String, _ verb: String) -> ContentError {
    ContentError(
      .indexMismatch, "\(name): “\(path)” \(verb) the signed index",
      remedy: "Fetch the package again; if it stays, publish it again", subject: name)
  }
}

extension CheckedEntry {
  /// The kind as an index names it; a hard link is a file there.
  var indexedKind: IndexedFile.Kind {
    switch kind {
    case .file, .hardLink: .file
    case .directory: .directory
    case .link: .link
    }
  }
}

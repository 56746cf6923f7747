import ContentModel
import FileIO

/// Writes the entries of a walk; stops at the first refusal or difference from the promise.
final class Unpacker: EntryVisitor {
  private let name: String
  private let readsInfo: Bool
  private let promise: UnpackPromise?
  private let promised: [String: IndexedFile]?
  // Two chains, because the targets of hard links are in other folders than the entries.
  private let chain: FolderChain
  private let linked: FolderChain
  private let progress: (Int64) throws -> Void

  private var collector: EntryCollector
  /// The current file.
  private var file: File?
  /// The decompressed bytes written so far.
  private var written: Int64 = 0
  /// The identities of complete files.
  private var identities: [String: FileIdentity] = [:]
  // Paths of hard-linked files. Each new link changes the inode, and therefore the identity.
  private var linkedPaths: Set<String> = []

  /// Writes into `folder`; `progress` gets the decompressed bytes written so far.
  init(
    name: String, folder: Directory, readsInfo: Bool, promise: UnpackPromise?,
    progress: @escaping (Int64) throws -> Void
  ) {
    self.name = name
    self.readsInfo = readsInfo
    self.promise = promise
    self.progress = progress
    promised = promise?.entries.map {
      Dictionary($0.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    }
    chain = FolderChain(folder)
    linked = FolderChain(folder)
    collector = EntryCollector(isContent: readsInfo)
  }

  func refuse(_ finding: Finding) throws { throw Refusal(finding) }

  func begin(_ entry: CheckedEntry) throws {
    collector.begin(entry)
    try checkPromised(entry)
    let place = try chain.parent(of: entry.path, creating: true)
    switch entry.kind {
    case .file: file = try place.folder.createFile(place.name, mode: 0o444)
    case .directory: try chain.createFolders(entry.path)
    case .link(let target): try place.folder.createLink(place.name, to: target)
    case .hardLink(let path):
      let source = try linked.parent(of: path)
      try source.folder.hardLink(source.name, to: place.folder, place.name)
      linkedPaths.formUnion([entry.path, path])
    }
  }

  func add(_ bytes: UnsafeRawBufferPointer) throws {
    try file?.write(bytes)
    written += Int64(bytes.count)
    try collector.add(bytes)
    try progress(written)
  }

  func end(_ entry: CheckedEntry) throws {
    if case .file = entry.kind {
      identities[entry.path] = try file?.status().identity
      file = nil
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
    if let promised, promised[entry.path] != made { throw difference(entry.path, "does not match") }
  }

  /// Returns all entries, sorted by path; throws if a promised entry is missing.
  func finish() throws -> [InstalledFile] {
    if readsInfo, collector.info == nil { throw Refusal(.contentInfoMissing) }
    let entries = collector.entries.sorted(by: IndexedFile.isOrdered)
    if let expected = promise?.entries, expected.count != entries.count {
      let found = Set(entries.map(\.path))
      let missing = expected.first { !found.contains($0.path) }
      throw difference(missing?.path ?? "an entry", "is missing, but listed in")
    }
    for path in linkedPaths { identities[path] = try linked.status(of: path)?.identity }
    return entries.map { InstalledFile(entry: $0, identity: identities[$0.path]) }
  }

  // MARK: The promise

  /// Throws before anything is written if the entry was not promised.
  private func checkPromised(_ entry: CheckedEntry) throws {
    guard let promised else { return }
    for folder in entry.impliedFolders where promised[folder]?.kind != .directory {
      throw difference(folder, "is not in")
    }
    guard let known = promised[entry.path] else { throw difference(entry.path, "is not in") }
    // ContentInfo.plist is read first, since its errors are more specific.
    if readsInfo, entry.path == ContentInfo.fileName { return }
    guard known.kind == entry.indexedKind else { throw difference(entry.path, "does not match") }
    if case .file = entry.kind, let size = entry.size, size != known.size {
      throw difference(entry.path, "does not match")
    }
  }

  private func checkInfo() throws {
    guard let promise, let info = collector.info else { return }
    try promise.check(info, in: name)
  }

  private func difference(_ path: String, _ verb: String) -> ContentError {
    ContentError(
      .indexMismatch, "\(name): “\(path)” \(verb) the signed index",
      remedy: "Fetch the package again. If the error persists, publish the package again",
      subject: name)
  }
}

extension CheckedEntry {
  /// The kind as an index records it; a hard link is a file there.
  var indexedKind: IndexedFile.Kind {
    switch kind {
    case .file, .hardLink: .file
    case .directory: .directory
    case .link: .link
    }
  }
}

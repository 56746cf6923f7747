import HostedModel
import HostedPackage
import HostedFileIO
import FoundationEssentials

/// Reads installed contents from the `products` folder, for users who cannot read the journal.
///
/// One rename makes a version's folder appear, after all its files are verified and durable.
/// Another rename makes it disappear. So the folders are always correct, and no second file can
/// contradict them. Pins and digests are only in the journal: calls that need them throw
/// `notPermitted`. Folders that this user cannot read are left out; a umask may have caused that.
struct InstalledTree: InstallJournal {
  let folder: LibraryFolder
  /// Thrown by calls that need the journal.
  let refusal: ContentError

  func installed() throws -> [InstalledContent] {
    try folder.products.entries().filter { $0.kind == .directory }
      .compactMap { try? ProductIdentifier(validating: $0.name) }
      .sorted().flatMap { content -> [InstalledContent] in
        try nilIf(.notPermitted) { try installed(content) } ?? []
      }
  }

  func installed(_ content: ProductIdentifier) throws -> [InstalledContent] {
    guard try folder.products.status(of: content.rawValue)?.kind == .directory else { return [] }
    let home = try folder.products.directory(content.rawValue)
    return try home.entries().filter { $0.kind == .directory }
      .compactMap { try? ContentVersion(validating: $0.name) }
      .sorted().compactMap { try installed(content, $0, in: home) }
  }

  /// Returns nil if the folder is not a version, is not readable, or is just being removed.
  private func installed(
    _ content: ProductIdentifier, _ version: ContentVersion, in home: Directory
  ) throws -> InstalledContent? {
    do {
      let tree = try home.directory(version.rawValue)
      let info = try ContentInfo(
        propertyList: tree.contents(
          of: ContentInfo.fileName, limit: Int64(ContentInfo.maximumLength)))
      guard info.contentIdentifier == content, info.version == version else { return nil }
      let (size, count) = try Self.measure(tree)
      return InstalledContent(
        contentIdentifier: content, productIdentifier: info.productIdentifier, version: version,
        size: size, entryCount: count,
        date: Date(timeIntervalSince1970: try tree.status().modified))
    } catch let error as ContentError
      where [.fileMissing, .contentInfoInvalid, .limitExceeded, .notPermitted].contains(error.code)
    {
      return nil
    }
  }

  private static func measure(_ folder: Directory) throws -> (size: Int64, count: Int) {
    var total = (size: Int64(0), count: 0)
    for entry in try folder.entries() where entry.isText {
      total.count += 1
      switch entry.kind {
      case .file: total.size += try folder.status(of: entry.name)?.size ?? 0
      case .directory:
        let inner = try measure(folder.directory(entry.name))
        total = (total.size + inner.size, total.count + inner.count)
      case .link, .other: break
      }
    }
    return total
  }

  // MARK: Calls that need the journal

  func announce(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws {
    throw refusal
  }
  func replace(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws {
    throw refusal
  }
  func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws { throw refusal }
  func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws { throw refusal }
  func announced() throws -> [InstalledContent] { throw refusal }
  func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest? {
    throw refusal
  }
  func pins() throws -> Set<ContentKey> { throw refusal }
  func setPin(_ pinned: Bool, on key: ContentKey) throws { throw refusal }
  func files(of content: ProductIdentifier, _ version: ContentVersion) throws -> [InstalledFile] {
    throw refusal
  }
}

import HostedModel

extension PackageIndex {
  /// Throws the first rule that the index breaks.
  ///
  /// A signature does not make an index safe. The rules are those for the entries of an archive. As
  /// for an archive, the package's length limits the declared sizes.
  func check(name: String, limits: PackageLimits) throws {
    do {
      guard packageLength <= limits.packageLength else {
        throw Finding.limit(
          "limit-package",
          "The package has \(packageLength) bytes; the limit is \(limits.packageLength)"
        )
      }
      let limit = limits.plainLimit(packedLength: packageLength)
      guard installedSize <= limit else {
        throw Finding.limit(
          "limit-size", "The files have more than \(limit) bytes, the limit for this package")
      }
      var rules = EntryRules(limits: limits, isContent: true, expecting: files.count)
      for file in files {
        if let finding = rules.check(ArchiveEntry(file)).findings.first { throw finding }
        guard file.kind != .file || file.digest != nil else {
          throw Finding.damaged("“\(file.path)” has no digest in the index", path: file.path)
        }
      }
      let info = files.first { $0.path == ContentInfo.fileName && $0.kind == .file }
      guard let info else { throw Finding.contentInfoMissing }
      guard info.size <= ContentInfo.maximumLength else {
        throw Finding.limit(
          "limit-size", "ContentInfo.plist is longer than \(ContentInfo.maximumLength) bytes",
          path: info.path)
      }
    } catch let finding as Finding {
      throw finding.error(in: name)
    }
  }
}

extension ArchiveEntry {
  /// Converts an entry of an index, which records no permissions.
  fileprivate init(_ file: IndexedFile) {
    let kind: Kind =
      switch file.kind {
      case .file: .file
      case .directory: .directory
      case .link: .link(target: Array((file.target ?? "").utf8))
      }
    self.init(path: Array(file.path.utf8), kind: kind, permissions: 0, size: file.size)
  }
}

/// The durable record of installed contents; implemented by the journal.
///
/// An install is announced before its folder appears, and confirmed after `current` is switched, so
/// that recovery can tell these states apart. All methods may be called from any thread, are
/// durable when they return, and throw `journalFailed` or `diskFull`.
package protocol InstallJournal: Sendable {
  /// Records that the folder of `content` is about to appear, with these files.
  ///
  /// `signers` identifies the signers of the files' digests; nil if the files were compared with
  /// the digests.
  func announce(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws
  /// Records that the folder of `content` now has these files instead of earlier ones.
  func replace(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws
  /// Records that `content` is complete and that `current` was decided.
  func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws
  /// Removes an announced or installed version, and its pin.
  func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws
  /// Returns announced but unconfirmed installs whose records can be read.
  func announced() throws -> [InstalledContent]
  /// Returns confirmed versions whose records can be read, by content and version.
  func installed() throws -> [InstalledContent]
  /// Returns an error for each unreadable record, with its content as subject.
  func unreadableContents() throws -> [ContentError]
  /// Returns the confirmed versions of one content, by version.
  func installed(_ content: ProductIdentifier) throws -> [InstalledContent]
  /// Returns the signers of a version's digests; nil if the files were compared with them.
  func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest?
  /// Returns the pinned versions, which are never collected.
  func pins() throws -> Set<ContentKey>
  /// Pins or unpins a version.
  func setPin(_ pinned: Bool, on key: ContentKey) throws
  /// Returns the files of an announced or installed version, by the bytes of their paths.
  func files(of content: ProductIdentifier, _ version: ContentVersion) throws -> [InstalledFile]
  /// Returns the files of each of `contents`, in one read.
  ///
  /// Nil for a version that is left out: `files(of:_:)` returns its files or the error.
  func files(of contents: ArraySlice<InstalledContent>) throws -> [[InstalledFile]?]
}

extension InstallJournal {
  /// Leaves out all versions.
  package func files(of contents: ArraySlice<InstalledContent>) throws -> [[InstalledFile]?] {
    contents.map { _ in nil }
  }

  /// Returns no errors.
  package func unreadableContents() throws -> [ContentError] { [] }
}

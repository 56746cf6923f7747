package import HostedModel
package import HostedPackage
import HostedFileIO

extension ContentLibrary {
  /// Returns up to three installed versions of the content whose unchanged files can be reused.
  ///
  /// The newest come first. Each is locked against removal while its tree is used. Recorded digests
  /// that were never compared with the files are trusted only if the same keys signed this offer.
  /// Otherwise content signed with a stolen key could outlive the key. A version whose record
  /// cannot be read is skipped.
  package func reusableTrees(for offer: ContentOffer) throws -> [ReusableTree] {
    let installed = try journal.installed(offer.contentIdentifier)
    return try installed.reversed().prefix(3).compactMap { content in
      guard let files = try recordedFiles(of: content) else { return nil }
      let signers = try journal.signers(of: content.contentIdentifier, content.version)
      return try reusableTree(
        of: content, files: files, isTrusted: signers == nil || signers == offer.signers)
    }
  }

  /// Returns the `files` of one installed version; nil if it is missing or being removed.
  package func reusableTree(
    of content: InstalledContent, files: [InstalledFile], isTrusted: Bool
  ) throws -> ReusableTree? {
    guard let root = try versionFolder(content), try root.tryLock(alone: false) else { return nil }
    return ReusableTree(root: root, files: files, isTrusted: isTrusted)
  }
}

package import ContentModel
import Digests
package import FoundationEssentials

/// The files of a store, as listed in its verified metadata.
package struct TrustedTargets: Sendable {
  /// The version of the targets metadata.
  package let version: Int64
  /// When the targets metadata expires.
  package let expires: Date
  /// The files by target name, such as `com.example.book/1.0/content.pkg`.
  package let targets: [String: TargetFile]
  /// SHA-256 of the targets metadata.
  ///
  /// It changes if the files change; nil if it is unknown.
  package let digest: Digest?
  /// Digest of the keys and the threshold of the targets role.
  ///
  /// It changes only if they change.
  package let signers: Digest?
  /// Whether file names contain the digest.
  package let usesConsistentSnapshots: Bool
  private let fetcher: any MetadataFetcher

  /// Creates the list from targets that were verified with `root`.
  package init(
    _ role: TargetsRole, root: RootRole, digest: Digest? = nil, fetcher: any MetadataFetcher
  ) {
    self.digest = digest
    signers = root.roles[.targets].flatMap { keys in
      try? Digest(of: Array("\(keys.threshold) \(keys.identifiers.sorted())".utf8))
    }
    version = role.version
    expires = role.expires
    targets = role.targets
    usesConsistentSnapshots = root.usesConsistentSnapshots
    self.fetcher = fetcher
  }

  /// The path below the store of the target `name`: `targets/<folder>/<SHA-256>.<base name>`.
  package func path(of name: String, _ file: TargetFile) -> String {
    Self.storePaths(of: name, file, consistent: usesConsistentSnapshots).first ?? name
  }

  /// The possible paths of the target `name` below the store, the usual one first.
  ///
  /// Not empty. See `paths`.
  package static func storePaths(of name: String, _ file: TargetFile, consistent: Bool) -> [String]
  {
    paths(of: name, file, consistent: consistent).map { "targets/\($0)" }
  }

  /// The possible paths of the target `name` below the store's targets, the usual one first.
  ///
  /// With `consistent` names, each path has one of the listed digests before its last component.
  package static func paths(of name: String, _ file: TargetFile, consistent: Bool) -> [String] {
    guard consistent else { return [name] }
    return file.hashes.prefixes.map { prefix in
      var parts = name.pathComponents(omittingEmpty: false)
      parts.append("\(prefix).\(parts.removeLast())")
      return parts.joined(separator: "/")
    }
  }

  /// Fetches a small target and verifies it.
  ///
  /// Blocks. Throws `storeMissing` if the target is not listed or does not exist, `limitExceeded`
  /// if it has more than `limit` bytes, and `digestMismatch` if the bytes differ from the metadata.
  package func fetchTarget(_ name: String, limit: Int64 = 1 << 20) throws -> [UInt8] {
    guard let file = targets[name] else { throw ContentError.storeMissing("target \(name)") }
    guard file.length <= limit else {
      throw ContentError(
        .limitExceeded, "\(name) has \(file.length) bytes, more than the maximum of \(limit)",
        remedy: "Ask the store's owner to publish a shorter file", subject: name)
    }
    let path = path(of: name, file)
    return try fetcher.fromServers { server in
      let bytes: [UInt8]?
      do {
        bytes = try server.fetch(path, limit: file.length)
      } catch let error as ContentError where error.code == .limitExceeded {
        throw ContentError.digestMismatch(name, "it has more than \(file.length) bytes")
      }
      guard let bytes else { throw ContentError.storeMissing(path) }
      try check(bytes, length: file.length, hashes: file.hashes, of: name)
      return bytes
    }
  }
}

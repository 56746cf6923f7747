package import ContentModel
import Digests
import FoundationEssentials

/// The files of a store, as listed in its verified metadata; may be used from any thread.
package struct TrustedTargets: Sendable {
  /// The version of the targets metadata.
  package var version: Int64 { role.version }
  /// The versions of snapshot and targets: changes with each list, also if only a bin changes.
  package var catalogVersion: String { "\(roles.trusted.snapshot?.version ?? 0).\(version)" }
  /// The files of the targets metadata, by name; the bins of a large store have files too.
  package var targets: [String: TargetFile] { role.targets }
  /// Digest of the keys and the threshold of the targets role; it changes only if they change.
  package let signers: Digest?
  /// Whether file names contain the digest.
  package let usesConsistentSnapshots: Bool
  package let role: TargetsRole
  let roles: DelegatedRoles

  /// Creates the files of targets that were verified with `trusted`, with all delegated roles from
  /// the store, even if they have expired.
  package init(
    _ role: TargetsRole, of trusted: TrustedMetadata, fetcher: any MetadataFetcher
  ) {
    self.init(role, DelegatedRoles(trusted, folder: nil, fetcher: fetcher, time: .distantPast))
  }

  /// Creates the files of targets that were verified with the root of `roles`.
  init(_ role: TargetsRole, _ roles: DelegatedRoles) {
    self.role = role
    self.roles = roles
    let root = roles.trusted.root
    signers = root.roles[.targets].flatMap { keys in
      try? Digest(of: Array("\(keys.threshold) \(keys.identifiers.sorted())".utf8))
    }
    usesConsistentSnapshots = root.usesConsistentSnapshots
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
    paths(of: name, file, consistent: consistent).map { "\(StorePath.folder)/\($0)" }
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

  /// Fetches and verifies the file at `path`; `name` is for messages.
  ///
  /// Blocks. Throws `storeMissing` if it does not exist, `limitExceeded` if it has more than
  /// `limit` bytes, and `digestMismatch` if the bytes differ from the metadata.
  package func fetch(
    _ name: String, _ file: TargetFile, at path: String, limit: Int64
  ) throws -> [UInt8] {
    guard file.length <= limit else {
      throw ContentError(
        .limitExceeded, "\(name) has \(file.length) bytes, more than the maximum of \(limit)",
        remedy: "Ask the store's owner to publish a shorter file", subject: name)
    }
    return try roles.fetcher.fromServers { server in
      let bytes: [UInt8]?
      do {
        bytes = try server.fetch(path, limit: file.length)
      } catch let error as ContentError where error.code == .limitExceeded {
        throw ContentError.digestMismatch(name, "it has more than \(file.length) bytes")
      }
      guard let bytes else { throw ContentError.storeMissing(path) }
      try file.check(bytes, of: name)
      return bytes
    }
  }
}

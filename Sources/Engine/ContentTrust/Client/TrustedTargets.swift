package import ContentModel
import Digests
package import FoundationEssentials

/// The files of a store as its verified metadata promises them.
package struct TrustedTargets: Sendable {
  /// The version of the targets metadata.
  package let version: Int64
  /// When the targets metadata must not be believed any more.
  package let expires: Date
  /// The files by target name, such as `com.example.book/1.0/content.pkg`.
  package let targets: [String: TargetFile]
  /// SHA-256 of the targets metadata: the same as long as the files are; nil when nobody said.
  package let digest: Digest?
  /// Whose word these are: the keys that sign them and how many must; the same until those change.
  package let signers: Digest?
  /// Whether names carry the digest, which is part of where a file lies.
  package let usesConsistentSnapshots: Bool
  private let fetcher: any MetadataFetcher

  /// Takes targets that were verified by `root`.
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
    "targets/\(Self.paths(of: name, file, consistent: usesConsistentSnapshots).first ?? name)"
  }

  /// Where below a store's targets the target `name` may be, the usual place first: where names
  /// carry a digest, one of those that are promised stands before its last component.
  package static func paths(of name: String, _ file: TargetFile, consistent: Bool) -> [String] {
    guard consistent else { return [name] }
    return file.hashes.prefixes.map { prefix in
      var parts = name.pathComponents(omittingEmpty: false)
      parts.append("\(prefix).\(parts.removeLast())")
      return parts.joined(separator: "/")
    }
  }

  /// All bytes of a small target, verified; blocks while they are fetched.
  ///
  /// Throws `storeMissing` when the target is not promised or not there, `limitExceeded` beyond
  /// `limit` bytes, `digestMismatch` when the bytes are others.
  package func fetchTarget(_ name: String, limit: Int64 = 1 << 20) throws -> [UInt8] {
    guard let file = targets[name] else { throw ContentError.storeMissing("target \(name)") }
    guard file.length <= limit else {
      throw ContentError(
        .limitExceeded, "\(name) has \(file.length) bytes, more than the \(limit) that are read",
        remedy: "The store's owner publishes a shorter one", subject: name)
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

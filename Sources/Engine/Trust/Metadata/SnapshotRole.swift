package import HostedModel
package import FoundationEssentials

/// The snapshot role: lists the versions of all targets metadata that belong together.
package struct SnapshotRole: Role {
  package static let type = RoleName.snapshot
  package static let ownMembers: Set = ["meta"]

  package let header: RoleHeader
  /// By file name without version; always contains the file of `targets`.
  package let files: [String: MetadataFile]
  package let targets: MetadataFile

  /// Creates a snapshot.
  ///
  /// `lists` is a digest of the files that were signed with it. It makes two snapshots different
  /// whose bins differ, although only versions of bins are listed.
  package init(
    version: Int64, expires: Date, targets: MetadataFile, others: [String: MetadataFile] = [:],
    lists: Digest? = nil
  ) {
    let unknown = lists.map { ["lists": JSONValue.object(["sha256": .string($0.hex)])] }
    header = RoleHeader(version: version, expires: expires, unknown: unknown ?? [:])
    self.targets = targets
    files = others.merging([RoleName.targets.fileName: targets]) { $1 }
  }

  package init(_ header: RoleHeader, signed: MetadataField) throws {
    self.header = header
    targets = try MetadataFile(signed["meta"][RoleName.targets.fileName])
    files = try signed["meta"].members { _, field in try MetadataFile(field) }
  }

  package var members: [String: JSONValue] { ["meta": .object(files.mapValues(\.json))] }
}

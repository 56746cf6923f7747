import HostedModel
import HostedTrust
public import FoundationEssentials

/// Recovery of a store whose files and publication record are from a backup.
extension StoreFolder {
  /// Signs all metadata with numbers above those that clients may have seen.
  ///
  /// Use it if the publication record was restored from a backup too, so that the last signed
  /// numbers are unknown. `seen` has the highest numbers that clients may have seen, except of the
  /// root. A role without a number gets the highest of the others. Without numbers, it signs above
  /// the recorded ones, as the next change of a store does that is opened with `restored`. Numbers
  /// below the recorded ones have no effect.
  ///
  /// Needs no root keys. What was published after the backup is lost; what was retired or withdrawn
  /// after it is offered again. If the catalog got more bins after the backup, clients refuse it
  /// until `rotate` replaces the snapshot and timestamp keys. Returns the signed numbers. Throws
  /// `usage` for a number that cannot be a version, and `storeRolledBack` if a root is missing.
  @discardableResult
  public func recover(seen: [StoreRole: Int64] = [:], now: Date = Date()) throws
    -> [StoreRole: Int64]
  {
    try recover(seen: seen, listed: [], now: now)
  }

  /// Signs above `seen` with a snapshot that also lists the files `listed`.
  ///
  /// Clients refuse a snapshot that lacks a file of an earlier one, such as a bin that the backup
  /// does not have.
  @discardableResult
  package func recover(seen: [StoreRole: Int64], listed: Set<String>, now: Date = Date()) throws
    -> [StoreRole: Int64]
  {
    let seen = try Self.numbers(seen)
    return try writing(now, restored: true) { metadata, writer in
      let record = try metadata.above(seen, listing: listed).publish([:], with: writer)
      return Self.versions(record.signed)
    }
  }

  /// The newest root and the numbers of the metadata in the folder; higher ones may be recorded.
  ///
  /// Needs no keys.
  package func newestMetadata() throws -> (root: [UInt8], versions: [StoreRole: Int64]) {
    let metadata = try readMetadata(restored: true)
    let chain = try StoreMetadata.chain(in: metadataFolder, metadata.record, nil)
    return (chain.document.bytes, Self.versions(metadata.versions))
  }

  /// The numbers of all roles except the root.
  ///
  /// Each publication signs the timestamp, but not always the others. So the number of the
  /// timestamp, which is the easiest to find, is enough.
  private static func numbers(_ seen: [StoreRole: Int64]) throws -> [RoleName: Int64] {
    for (role, number) in seen {
      // The next publications need higher numbers.
      guard role != .root, (1..<Int64.max - 1).contains(number) else {
        throw ContentError(
          .usage, "Clients cannot have seen version \(number) of the \(role.rawValue) metadata",
          remedy: "Use numbers of targets, snapshot and timestamp from 1 to \(Int64.max - 2)",
          subject: role.rawValue)
      }
    }
    guard let highest = seen.values.max() else { return [:] }
    return StoreRole.allCases.reduce(into: [:]) {
      if $1 != .root { $0[$1.name] = seen[$1] ?? highest }
    }
  }

  private static func versions(_ versions: [RoleName: SignedVersion]) -> [StoreRole: Int64] {
    StoreRole.allCases.reduce(into: [:]) { $0[$1] = versions[$1.name]?.version }
  }
}

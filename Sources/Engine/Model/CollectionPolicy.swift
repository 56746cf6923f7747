/// Selects the installed versions to remove when space is needed.
///
/// Pinned and leased versions, and versions of unfinished downloads, are never removed.
public struct CollectionPolicy: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The minimum number of versions kept per content, current and newest first.
  ///
  /// A number below 1 counts as 1.
  public var keptVersions: Int
  /// The quota for all versions together, in bytes; nil for no quota.
  ///
  /// Above the quota, the least recently used versions are removed first, current ones last.
  public var maximumBytes: Int64?

  /// Creates a policy; the default keeps the current version of each content.
  public init(keptVersions: Int = 1, maximumBytes: Int64? = nil) {
    self.keptVersions = max(1, keptVersions)
    self.maximumBytes = maximumBytes
  }

  /// The number of kept versions and the quota.
  public var description: String {
    let quota = maximumBytes.map { ", at most \($0) bytes" } ?? ""
    return "keeps \(keptVersions) of each content\(quota)"
  }

  /// Returns the versions to remove, in order; pure.
  ///
  /// `surplus` are the versions beyond `keptVersions`. `overQuota` are further versions to remove
  /// while the quota is exceeded, least recently used first, current ones last. The caller skips
  /// leased versions.
  package func plan(_ candidates: [CollectionCandidate]) -> (
    surplus: [InstalledContent], overQuota: [InstalledContent]
  ) {
    // The variable and a decoder accept any number.
    let count = max(1, keptVersions)
    var surplus: [CollectionCandidate] = []
    var kept: [CollectionCandidate] = []
    let byContent = Dictionary(grouping: candidates) { $0.content.contentIdentifier }
    for versions in byContent.values {
      let ordered = versions.sorted {
        ($0.isCurrent ? 1 : 0, $0.content.version) > ($1.isCurrent ? 1 : 0, $1.content.version)
      }
      kept += ordered.prefix(count)
      surplus += ordered.dropFirst(count).filter { !$0.isProtected }
    }
    let overQuota = kept.filter { !$0.isProtected }.sorted {
      ($0.isCurrent ? 1 : 0, $0.lastUse) < ($1.isCurrent ? 1 : 0, $1.lastUse)
    }
    surplus.sort { $0.lastUse < $1.lastUse }
    return (surplus.map { $0.content }, maximumBytes == nil ? [] : overQuota.map { $0.content })
  }
}

/// An installed version as input of a collection.
///
/// `isProtected` is whether it is pinned, or needed by an unfinished download. `lastUse` is in
/// nanoseconds since 1970.
package typealias CollectionCandidate = (
  content: InstalledContent, isCurrent: Bool, isProtected: Bool, lastUse: Int64
)

/// The result of a collection.
public struct CollectionReport: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The removed versions.
  public package(set) var removed: [InstalledContent] = []
  /// Versions that were not removed because a process has leased them.
  public package(set) var leased: [InstalledContent] = []
  /// Errors of contents that could not be read or removed.
  public package(set) var failures: [ContentError] = []
  /// Bytes of the remaining versions, as far as they could be read.
  public package(set) var bytesLeft: Int64 = 0

  /// Bytes of the removed versions.
  public var bytesFreed: Int64 { removed.reduce(0) { $0 + $1.size } }

  package init() {}

  /// The removed and leased versions, and the failures.
  public var description: String {
    let failures = failures.map { "; \($0)" }.joined()
    return "removed: \(removed); leased: \(leased); \(bytesLeft) bytes left\(failures)"
  }
}

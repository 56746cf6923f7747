/// Which installed versions may go when room is made.
///
/// What is pinned, leased, or belongs to an unfinished download never goes.
public struct CollectionPolicy: Hashable, Codable, Sendable {
  /// How many versions of a content stay at least, the current and the newest ones; 1 or more.
  public var keptVersions: Int
  /// Bytes that all versions may have together; nil for no quota.
  ///
  /// Above it versions go, the least recently used first, at last current ones, too.
  public var maximumBytes: Int64?

  /// Creates a policy; the default keeps the current version of each content.
  public init(keptVersions: Int = 1, maximumBytes: Int64? = nil) {
    self.keptVersions = max(1, keptVersions)
    self.maximumBytes = maximumBytes
  }
}

/// An installed version as a collection looks at it.
package struct CollectionCandidate: Hashable, Sendable {
  package let content: InstalledContent
  package let isCurrent: Bool
  /// Pinned, or needed by an unfinished download.
  package let isProtected: Bool
  /// When it was used last, in nanoseconds since 1970.
  package let lastUse: Int64

  package init(content: InstalledContent, isCurrent: Bool, isProtected: Bool, lastUse: Int64) {
    self.content = content
    self.isCurrent = isCurrent
    self.isProtected = isProtected
    self.lastUse = lastUse
  }
}

extension CollectionPolicy {
  /// The versions that may go, in the order in which they go; pure.
  ///
  /// First those that no rule keeps, then, as long as the quota is exceeded, others by last use:
  /// before a current version its content's other ones. A version that turns out to be leased is
  /// passed over by the caller, who then asks for more with what is left.
  package func plan(_ candidates: [CollectionCandidate]) -> (
    surplus: [CollectionCandidate], overQuota: [CollectionCandidate]
  ) {
    var surplus: [CollectionCandidate] = []
    var kept: [CollectionCandidate] = []
    let byContent = Dictionary(grouping: candidates) { $0.content.contentIdentifier }
    for versions in byContent.values {
      let ordered = versions.sorted {
        ($0.isCurrent ? 1 : 0, $0.content.version) > ($1.isCurrent ? 1 : 0, $1.content.version)
      }
      kept += ordered.prefix(keptVersions)
      kept += ordered.dropFirst(keptVersions).filter(\.isProtected)
      surplus += ordered.dropFirst(keptVersions).filter { !$0.isProtected }
    }
    let overQuota = kept.filter { !$0.isProtected }.sorted {
      ($0.isCurrent ? 1 : 0, $0.lastUse) < ($1.isCurrent ? 1 : 0, $1.lastUse)
    }
    return (surplus.sorted { $0.lastUse < $1.lastUse }, maximumBytes == nil ? [] : overQuota)
  }
}

/// What a collection did.
public struct CollectionReport: Hashable, Codable, Sendable {
  /// What was removed.
  public var removed: [InstalledContent] = []
  /// What would have gone but is in use by a process.
  public var leased: [InstalledContent] = []
  /// Why contents stay that could not be looked into or removed.
  public var failures: [ContentError] = []
  /// Bytes of what is left, as far as it could be looked into.
  public var bytesLeft: Int64 = 0

  /// Bytes of what was removed.
  public var bytesFreed: Int64 { removed.reduce(0) { $0 + $1.size } }

  package init() {}
}

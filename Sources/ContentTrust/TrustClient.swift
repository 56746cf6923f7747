import ContentModel
package import FileIO
package import FoundationEssentials
import Synchronization

/// Fetches a store's metadata and keeps what is trusted of it: the client of The Update Framework.
///
/// May be used from any thread; refreshes of one client happen one after the other. Another client
/// of the same folder is kept out by its owner's lock.
package final class TrustClient: Sendable {
  private let folder: TrustFolder
  private let fetcher: any MetadataFetcher
  private let now: @Sendable () -> Date
  // Held during all of a refresh, because two would write the same files; nothing else takes it.
  private let refreshing = Mutex(())

  /// How many roots a refresh follows at most.
  private static let rootSteps = 256
  /// Bytes of a snapshot whose length the timestamp does not promise.
  private static let snapshotLimit: Int64 = 2 << 20

  /// Creates a client that keeps its files in `trustFolder`; `now` is asked once a refresh.
  package init(
    trustFolder: Directory, fetcher: any MetadataFetcher, now: @escaping @Sendable () -> Date
  ) {
    folder = TrustFolder(trustFolder)
    self.fetcher = fetcher
    self.now = now
  }

  /// Brings the trusted metadata up to date and returns the store's files; blocks.
  ///
  /// `initialRoot` is what a first refresh starts from, else it throws `rootMissing`; later ones
  /// start from the root that is kept. What was verified before a failure is kept. A refresh that
  /// finds nothing new writes nothing but, at most every ten minutes, its own time.
  package func refresh(initialRoot: [UInt8]?) throws -> TrustedTargets {
    try refreshing.withLock { _ in
      let now = now()
      try folder.checkClock(now: now)
      var trusted = try startingRoot(initialRoot)
      try followRoots(&trusted)
      try trusted.checkRootExpiry(now: now)
      try restore(&trusted)
      try updateTimestamp(&trusted, now)
      try updateSnapshot(&trusted, now)
      let targets = try updateTargets(&trusted, now)
      try folder.recordRefresh(now: now)
      return TrustedTargets(targets, root: trusted.root, fetcher: fetcher)
    }
  }

  /// The files of the store as they were last trusted, without fetching; nil before a refresh.
  ///
  /// Signatures are checked, expiry is not: this tells what existed, not what is current.
  package func cached() throws -> TrustedTargets? {
    try refreshing.withLock { _ in
      guard let root = try folder.metadata(.root), let bytes = try folder.metadata(.targets) else {
        return nil
      }
      let trusted = try trustedRoot(root)
      let targets = try trusted.earlierTargets(bytes)
      return TrustedTargets(targets, root: trusted.root, fetcher: fetcher)
    }
  }

  // MARK: Root

  private func startingRoot(_ initialRoot: [UInt8]?) throws -> TrustedMetadata {
    if let kept = try folder.metadata(.root) { return try trustedRoot(kept) }
    guard let initialRoot else {
      throw ContentError(
        .rootMissing, "No trusted root of the store is known",
        remedy: "Give the store's root metadata, as its owner published it (--root FILE)")
    }
    let trusted = try TrustedMetadata(root: initialRoot)
    try folder.replace(.root, with: initialRoot)
    return trusted
  }

  /// Trusts the root that is kept; the store has no part in it when that cannot be read.
  private func trustedRoot(_ bytes: [UInt8]) throws -> TrustedMetadata {
    do {
      return try TrustedMetadata(root: bytes)
    } catch let error as ContentError where error.group == .trust {
      let path = folder.path(of: .root)
      throw ContentError(
        error.code, "The trusted root in \(path) cannot be used",
        remedy: "Remove that file, and give the store's root metadata again (--root FILE)",
        subject: path, cause: error.message)
    }
  }

  private func followRoots(_ trusted: inout TrustedMetadata) throws {
    for _ in 0..<Self.rootSteps {
      let path = "metadata/\(trusted.root.version + 1).root.json"
      guard let bytes = try fetch(.root, path) else { return }
      // Withdrawn first: with the new root kept, nobody would know any more that its keys changed.
      if try trusted.update(root: bytes) { try folder.withdrawTimestampAndSnapshot() }
      try folder.replace(.root, with: bytes)
    }
  }

  // MARK: What was trusted before

  /// Damaged or outdated signatures of our own files only cost the comparison with them.
  private func restore(_ trusted: inout TrustedMetadata) throws {
    if let bytes = try folder.metadata(.timestamp) { try? trusted.restore(timestamp: bytes) }
    if let bytes = try folder.metadata(.snapshot) { try? trusted.restore(snapshot: bytes) }
  }

  // MARK: Timestamp, snapshot, targets

  private func updateTimestamp(_ trusted: inout TrustedMetadata, _ now: Date) throws {
    let path = "metadata/\(RoleName.timestamp.fileName)"
    guard let bytes = try fetch(.timestamp, path) else {
      throw ContentError.storeMissing(path)
    }
    if try trusted.update(timestamp: bytes, now: now) {
      try folder.replace(.timestamp, with: bytes)
    }
  }

  private func updateSnapshot(_ trusted: inout TrustedMetadata, _ now: Date) throws {
    if let kept = try folder.metadata(.snapshot),
      (try? trusted.update(snapshot: kept, now: now)) != nil
    {
      return
    }
    guard let promise = trusted.timestamp?.snapshot else { return }
    let bytes = try fetch(
      .snapshot, promise, limit: Self.snapshotLimit,
      consistent: trusted.root.usesConsistentSnapshots)
    try trusted.update(snapshot: bytes, now: now)
    try folder.replace(.snapshot, with: bytes)
  }

  private func updateTargets(_ trusted: inout TrustedMetadata, _ now: Date) throws -> TargetsRole {
    if let kept = try folder.metadata(.targets),
      (try? trusted.update(targets: kept, now: now)) != nil, let targets = trusted.targets
    {
      return targets
    }
    if let promise = trusted.snapshot?.targets {
      let bytes = try fetch(
        .targets, promise, limit: RoleName.targets.limit,
        consistent: trusted.root.usesConsistentSnapshots)
      try trusted.update(targets: bytes, now: now)
      try folder.replace(.targets, with: bytes)
    }
    guard let targets = trusted.targets else {
      throw ContentError(.inconsistent, "A refresh ended without targets", remedy: "Report it")
    }
    return targets
  }

  // MARK: Fetching

  private func fetch(
    _ role: RoleName, _ promise: MetadataFile, limit: Int64, consistent: Bool
  ) throws -> [UInt8] {
    let path = "metadata/\(consistent ? "\(promise.version)." : "")\(role.fileName)"
    do {
      let limit = min(promise.length ?? limit, role.limit)
      if let bytes = try fetcher.fetch(path, limit: limit) { return bytes }
    } catch let error as ContentError where error.code == .limitExceeded {
      guard let length = promise.length, length <= role.limit else {
        throw ContentError.metadataTooLong(role, limit: min(limit, role.limit))
      }
      throw ContentError.digestMismatch(role.fileName, "it has more than \(length) bytes")
    }
    throw ContentError.storeMissing(path)
  }

  /// A file whose length nobody promised.
  private func fetch(_ role: RoleName, _ path: String) throws -> [UInt8]? {
    do {
      return try fetcher.fetch(path, limit: role.limit)
    } catch let error as ContentError where error.code == .limitExceeded {
      throw ContentError.metadataTooLong(role, limit: role.limit)
    }
  }
}

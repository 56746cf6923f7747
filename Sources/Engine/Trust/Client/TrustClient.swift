import HostedModel
import HostedDigests
package import HostedFileIO
package import FoundationEssentials
import HostedConcurrency

/// A client of The Update Framework: fetches a store's metadata and keeps what it has verified.
///
/// Thread-safe; refreshes are serialized. The owner's lock excludes other clients of the folder.
package final class TrustClient: Sendable {
  private let folder: TrustFolder
  private let fetcher: any MetadataFetcher
  private let now: @Sendable () -> Date
  private let watchesClock: Bool
  // Two refreshes would write the same files.
  private let session = Serialized<Session?>(nil)

  /// The result of the last refresh, so that the next one reads and checks only what is new.
  private struct Session {
    let targets: TrustedTargets
    /// The given root, which is connected to the trusted root; nil if none was given.
    let givenRoot: [UInt8]?
  }

  /// Creates a client that keeps its files in `trustFolder`.
  ///
  /// Calls `now` once per refresh. With `watchesClock`, it records the time of each refresh in the
  /// folder and refuses a clock that was set back. With `isReadOnly`, it compares with the files in
  /// the folder but does not change them; it can read while the owner writes.
  package init(
    trustFolder: Directory, isReadOnly: Bool = false, fetcher: any MetadataFetcher,
    watchesClock: Bool = true, now: @escaping @Sendable () -> Date
  ) {
    folder = TrustFolder(trustFolder, isReadOnly: isReadOnly)
    self.fetcher = fetcher
    self.watchesClock = watchesClock
    self.now = now
  }

  /// Updates the trusted metadata and returns the store's files.
  ///
  /// Blocks. The first refresh starts from `initialRoot` or the result of `firstUse`; it throws
  /// `rootMissing` if both are nil. Later refreshes start from the stored root; they throw
  /// `rootMismatch` if `initialRoot` is not connected to it. What was verified before a failure is
  /// kept. A refresh without news makes two requests, does not read or write metadata, and records
  /// its time at most every ten minutes.
  package func refresh(
    initialRoot: [UInt8]?, firstUse: () throws -> [UInt8]? = { nil }
  ) throws -> TrustedTargets {
    try session.use { session in
      // After a failure, the folder has the verified metadata. The session could differ from it.
      let next = try refreshed(session.take(), initialRoot, firstUse)
      session = next
      return next.targets
    }
  }

  private func refreshed(
    _ earlier: Session?, _ given: [UInt8]?, _ firstUse: () throws -> [UInt8]?
  ) throws -> Session {
    let now = now()
    if watchesClock { try folder.checkClock(now: now) }
    if let given, given != earlier?.givenRoot { _ = try TrustedMetadata(given: given) }
    var trusted: TrustedMetadata
    if let known = try earlier?.targets.metadata ?? keptRoot() {
      trusted = known
      if let given, given != earlier?.givenRoot {
        try fetcher.fromServers { try connect(given, to: &trusted, at: $0) }
      }
    } else {
      trusted = try firstRoot(given ?? firstUse())
    }
    let role = try update(&trusted, now)
    let givenRoot = given ?? earlier?.givenRoot
    if watchesClock {
      try folder.recordRefresh(now: now, givenRoot.map { try link($0, trusted) })
    }
    let targets = TrustedTargets(
      role, of: trusted, folder: folder, fetcher: fetcher, time: now)
    return Session(targets: targets, givenRoot: givenRoot)
  }

  /// Returns the store's files as they were last trusted, without fetching.
  ///
  /// Returns nil before the first refresh with the same `initialRoot`. Signatures are checked, but
  /// expiry is not: the result says what existed, not what is current. It has the bins and records
  /// that were fetched before.
  package func cached(initialRoot: [UInt8]? = nil) throws -> TrustedTargets? {
    try session.use { session in
      if let session, initialRoot == nil || initialRoot == session.givenRoot {
        return session.targets.kept
      }
      guard let trusted = try keptRoot(), let bytes = try folder.metadata(.targets),
        try initialRoot.map({ try folder.knows(link($0, trusted)) }) ?? true
      else { return nil }
      return TrustedTargets(
        try trusted.verified(bytes), of: trusted, folder: folder, fetcher: NoServer(), time: nil)
    }
  }

  // MARK: Root

  /// Returns the store's first root, `metadata/1.root.json`; nil if it does not exist.
  ///
  /// The root is only checked to be signed by its own keys.
  package static func firstRoot(of store: any MetadataFetcher) throws -> [UInt8]? {
    let path = MetadataName.root.path(version: 1)
    do {
      return try store.fromServers { server in
        guard let bytes = try server.fetch(.root, at: path) else {
          throw ContentError.storeMissing(path)
        }
        _ = try TrustedMetadata(root: bytes)
        return bytes
      }
    } catch let error as ContentError where error.code == .storeMissing && error.subject == path {
      return nil
    }
  }

  private func firstRoot(_ bytes: [UInt8]?) throws -> TrustedMetadata {
    guard let bytes else {
      throw ContentError(
        .rootMissing, "No trusted root for the store",
        remedy: "Provide the store's root metadata, as published by the store's owner")
    }
    let trusted = try TrustedMetadata(root: bytes)
    try folder.replace(.root, with: bytes)
    return trusted
  }

  /// Returns the stored root, or nil; an error names the file, not the store.
  private func keptRoot() throws -> TrustedMetadata? {
    do {
      guard let bytes = try folder.metadata(.root) else { return nil }
      return try TrustedMetadata(root: bytes)
    } catch let error as ContentError where error.group == .trust {
      let path = folder.path(of: .root)
      throw ContentError(
        error.code, "Cannot use the trusted root in \(path)",
        remedy: "Remove this file and provide the store's root metadata again",
        subject: path, cause: error.message)
    }
  }

  /// Follows the chain of roots while the store has a next one, up to version `last`.
  private func followRoots(
    _ trusted: inout TrustedMetadata, to last: Int64 = .max, keeping: Bool = true,
    at server: any MetadataFetcher
  ) throws {
    for _ in 0..<MetadataLimits.rootSteps where trusted.root.version < last {
      let path = MetadataName.root.path(version: trusted.root.version + 1)
      guard let bytes = try server.fetch(.root, at: path) else { return }
      let withdrawn = try trusted.update(root: bytes)
      guard keeping else { continue }
      // Withdraw first. If the new root were stored first, a crash would hide that the keys
      // changed.
      if withdrawn { try folder.withdrawTimestampAndSnapshot() }
      try folder.replace(.root, with: bytes)
    }
  }

  // MARK: A given root

  private func link(_ given: [UInt8], _ trusted: TrustedMetadata) throws -> TrustFolder.RootLink {
    TrustFolder.RootLink(given: try Digest(of: given), trusted: trusted.rootDigest)
  }

  /// Throws `rootMismatch` unless `given` is the trusted root, or a chain of the store's roots,
  /// each signed by the keys of the one before, connects the two.
  private func connect(
    _ given: [UInt8], to trusted: inout TrustedMetadata, at server: any MetadataFetcher
  ) throws {
    if try folder.knows(link(given, trusted)) { return }
    let start = try TrustedMetadata(root: given)
    var end = start
    var cause: String?
    do {
      if start.root.version > trusted.root.version {
        try followRoots(&trusted, to: start.root.version, at: server)
      } else {
        try followRoots(&end, to: trusted.root.version, keeping: false, at: server)
      }
      if end.rootDigest == trusted.rootDigest { return }
    } catch let error as ContentError where error.code == .signatureInvalid {
      cause = error.message
    }
    let kept = try folder.metadata(.root).map { try Digest(of: $0).hex } ?? "unknown"
    throw ContentError(
      .rootMismatch,
      "The given root (version \(start.root.version), SHA-256 \(try Digest(of: given).hex)) is not "
        + "connected by signed roots to the trusted root (version \(trusted.root.version), SHA-256 "
        + "\(kept))",
      remedy: "Provide the root of the trusted store. To trust the given root instead, remove "
        + "the folder \(folder.path)",
      subject: folder.path, cause: cause)
  }

  // MARK: Timestamp, snapshot, targets

  /// Updates roots, timestamp, snapshot and targets.
  ///
  /// If a publisher replaces keys after this client has fetched the roots, newer metadata is
  /// invalid under the client's root. The client then follows the new roots and retries.
  private func update(_ trusted: inout TrustedMetadata, _ now: Date) throws -> TargetsRole {
    while true {
      do {
        // All from one server: it is then enough to ask this server for a newer root.
        try fetcher.fromServers { server in
          try followRoots(&trusted, at: server)
          try trusted.checkRootExpiry(now: now)
          if trusted.timestamp == nil { try restoreKept(&trusted) }
          let path = MetadataName.timestamp.path()
          guard let bytes = try server.fetch(.timestamp, at: path) else {
            throw ContentError.storeMissing(path)
          }
          if try trusted.update(timestamp: bytes, now: now) {
            try folder.replace(.timestamp, with: bytes)
          }
          try trusted.checkExpiry(now: now)
        }
        if trusted.snapshot == nil {
          try fetcher.fetch(.snapshot, listedIn: trusted, keptIn: folder) {
            try trusted.update(snapshot: $0, now: now)
          }
        }
        if let targets = trusted.targets { return targets }
        return try fetcher.fetch(.targets, listedIn: trusted, keptIn: folder) {
          try trusted.update(targets: $0, now: now)
        }
      } catch let error as ContentError where error.code == .signatureInvalid {
        let version = trusted.root.version
        try fetcher.fromServers { try followRoots(&trusted, at: $0) }
        guard trusted.root.version > version else { throw error }
      }
    }
  }

  /// Restores the timestamp and the snapshot of an earlier run, for comparison.
  ///
  /// Ignores files that are damaged or signed by other keys, and throws other errors.
  private func restoreKept(_ trusted: inout TrustedMetadata) throws {
    func restore(_ name: MetadataName, _ accept: ([UInt8]) throws -> Void) throws {
      guard let kept = try folder.metadata(name) else { return }
      do {
        try accept(kept)
      } catch let error as ContentError where error.group == .trust {}
    }
    try restore(.timestamp) { try trusted.restore(timestamp: $0) }
    try restore(.snapshot) { try trusted.restore(snapshot: $0) }
  }
}

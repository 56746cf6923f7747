import ContentModel
import Digests
package import FileIO
package import FoundationEssentials
import Concurrency

/// Fetches a store's metadata and keeps what is trusted of it: the client of The Update Framework.
///
/// May be used from any thread; refreshes of one client happen one after the other. Another client
/// of the same folder is kept out by its owner's lock.
package final class TrustClient: Sendable {
  private let folder: TrustFolder
  private let fetcher: any MetadataFetcher
  private let now: @Sendable () -> Date
  private let watchesClock: Bool
  // Held during all of a refresh, because two would write the same files; nothing else takes it.
  private let session = Mutex<Session?>(nil)

  /// What the last refresh has found, so that the next one reads and checks only what is new.
  private struct Session {
    var trusted: TrustedMetadata
    var targets: TrustedTargets
    /// The one time at which everything of a refresh must be valid.
    let time: Date
    /// The given root that is connected to the trusted one; nil when none was given.
    let givenRoot: [UInt8]?
  }

  /// How many roots a refresh follows at most.
  private static let rootSteps = 256
  /// Bytes of a snapshot whose length the timestamp does not promise.
  private static let snapshotLimit: Int64 = 2 << 20

  /// Creates a client that keeps its files in `trustFolder`; `now` is asked once a refresh.
  ///
  /// `watchesClock` remembers the time of a refresh there, and refuses a clock that went back.
  /// `isReadOnly` compares with what the folder has and leaves it as it is; such a client may read
  /// while its owner writes.
  package init(
    trustFolder: Directory, isReadOnly: Bool = false, fetcher: any MetadataFetcher,
    watchesClock: Bool = true, now: @escaping @Sendable () -> Date
  ) {
    folder = TrustFolder(trustFolder, isReadOnly: isReadOnly)
    self.fetcher = fetcher
    self.watchesClock = watchesClock
    self.now = now
  }

  /// Brings the trusted metadata up to date and returns the store's files; blocks.
  ///
  /// The first refresh starts from `initialRoot`, or if that is nil from what `firstUse` returns;
  /// without both it throws `rootMissing`. Later ones start from the root that is kept, and throw
  /// `rootMismatch` if `initialRoot` is not connected to it. What was verified before a failure is
  /// kept. A refresh that finds nothing new makes two requests, reads no metadata and writes
  /// nothing but, at most every ten minutes, its own time.
  package func refresh(
    initialRoot: [UInt8]?, firstUse: () throws -> [UInt8]? = { nil }
  ) throws -> TrustedTargets {
    try session.withLock { session in
      let earlier = session
      // A failure leaves on disk what was verified, and here nothing that could differ from it.
      session = nil
      let next = try refreshed(earlier, initialRoot, firstUse)
      session = next
      return next.targets
    }
  }

  private func refreshed(
    _ earlier: Session?, _ given: [UInt8]?, _ firstUse: () throws -> [UInt8]?
  ) throws -> Session {
    let now = now()
    if watchesClock { try folder.checkClock(now: now) }
    if let given, given != earlier?.givenRoot { try TrustedMetadata.check(given: given) }
    var trusted: TrustedMetadata
    if let known = try earlier?.trusted ?? keptRoot() {
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
      role, root: trusted.root, digest: trusted.targetsDigest, fetcher: fetcher)
    return Session(trusted: trusted, targets: targets, time: now, givenRoot: givenRoot)
  }

  /// The files of the store as they were last trusted, without fetching; nil before a refresh that
  /// was given the same `initialRoot`.
  ///
  /// Signatures are checked, expiry is not: this tells what existed, not what is current.
  package func cached(initialRoot: [UInt8]? = nil) throws -> TrustedTargets? {
    try session.withLock { session in
      if let session, initialRoot == nil || initialRoot == session.givenRoot {
        return session.targets
      }
      guard let trusted = try keptRoot(), let bytes = try folder.metadata(.targets),
        try initialRoot.map({ try folder.knows(link($0, trusted)) }) ?? true
      else { return nil }
      let targets = try trusted.earlierTargets(bytes)
      return TrustedTargets(
        targets, root: trusted.root, digest: try Digest(of: bytes), fetcher: fetcher)
    }
  }

  // MARK: Delegations

  /// What the store promises of the target `name`, by whoever is trusted for it; blocks.
  ///
  /// Searches the targets of the last refresh and then the roles that they delegate to. Throws
  /// `storeMissing` when nobody promises it; an error of a role that had to be asked ends the
  /// search. Comes after `refresh`, else `inconsistent`.
  package func target(_ name: String) throws -> TargetFile {
    try session.withLock { session in
      guard var current = session, let top = current.trusted.targets else {
        throw ContentError(
          .inconsistent, "A target was looked for before a refresh", remedy: "Report it")
      }
      // What roles were found is kept for the next target, also when this one is not there.
      defer { session = current }
      var search = TargetSearch(for: name)
      if let file = try search.ask(Delegator(name: .targets, role: top)) { return file }
      while let step = search.next() {
        let role = try delegatedRole(step, &current.trusted, current.time)
        let delegator = Delegator(name: .delegated(step.role), role: role)
        if let file = try search.ask(delegator) { return file }
      }
      throw ContentError.storeMissing("target \(name)")
    }
  }

  private func delegatedRole(
    _ step: TargetSearch.Step, _ trusted: inout TrustedMetadata, _ now: Date
  ) throws -> TargetsRole {
    let (name, delegator) = (step.role, step.delegator)
    if let role = try trusted.trustedRole(name, for: delegator, now: now) { return role }
    let promise = try trusted.promise(of: name)
    if let kept = try folder.metadata(.delegated(name)),
      let role = try? trusted.update(delegated: name, kept, for: delegator, now: now)
    {
      return role
    }
    let (bytes, role) = try fetch(
      .delegated(name), promise, limit: RoleName.targets.limit,
      consistent: trusted.root.usesConsistentSnapshots
    ) { try trusted.update(delegated: name, $0, for: delegator, now: now) }
    try folder.replace(.delegated(name), with: bytes)
    return role
  }

  // MARK: Root

  /// The root with which `store` vouches for itself, `metadata/1.root.json`; nil if it has none.
  ///
  /// Nobody else vouches for it; it is checked only to be signed by its own keys.
  package static func firstRoot(of store: any MetadataFetcher) throws -> [UInt8]? {
    let path = "metadata/1.root.json"
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
        .rootMissing, "No trusted root of the store is known",
        remedy: "Give the store's root metadata, as its owner published it")
    }
    let trusted = try TrustedMetadata(root: bytes)
    try folder.replace(.root, with: bytes)
    return trusted
  }

  /// The root that is kept, nil if none is; the store has no part in it when that cannot be read.
  private func keptRoot() throws -> TrustedMetadata? {
    guard let bytes = try folder.metadata(.root) else { return nil }
    do {
      return try TrustedMetadata(root: bytes)
    } catch let error as ContentError where error.group == .trust {
      let path = folder.path(of: .root)
      throw ContentError(
        error.code, "The trusted root in \(path) cannot be used",
        remedy: "Remove that file, and give the store's root metadata again",
        subject: path, cause: error.message)
    }
  }

  /// Takes the next roots as long as the store has them, up to version `last`.
  private func followRoots(
    _ trusted: inout TrustedMetadata, to last: Int64 = .max, keeping: Bool = true,
    at server: MetadataServer
  ) throws {
    for _ in 0..<Self.rootSteps where trusted.root.version < last {
      let path = "metadata/\(trusted.root.version + 1).root.json"
      guard let bytes = try server.fetch(.root, at: path) else { return }
      let withdrawn = try trusted.update(root: bytes)
      guard keeping else { continue }
      // Withdrawn first: with the new root kept, nobody would know any more that its keys changed.
      if withdrawn { try folder.withdrawTimestampAndSnapshot() }
      try folder.replace(.root, with: bytes)
    }
  }

  // MARK: A given root

  private func link(_ given: [UInt8], _ trusted: TrustedMetadata) throws -> TrustFolder.RootLink {
    TrustFolder.RootLink(given: try Digest(of: given), trusted: trusted.rootDigest)
  }

  /// Throws `rootMismatch` unless `given` is the trusted root, or roots of the store, each signed
  /// by the keys of the one before, lead from one of the two to the other.
  private func connect(
    _ given: [UInt8], to trusted: inout TrustedMetadata, at server: MetadataServer
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
    throw try ContentError.rootMismatch(
      given: start.root, file: given, trusted: trusted.root, in: folder, cause: cause)
  }

  // MARK: What was trusted before

  /// Damaged or outdated signatures of our own files only cost the comparison with them.
  private func restore(_ trusted: inout TrustedMetadata) throws {
    if let bytes = try folder.metadata(.timestamp) { try? trusted.restore(timestamp: bytes) }
    if let bytes = try folder.metadata(.snapshot) { try? trusted.restore(snapshot: bytes) }
  }

  // MARK: Timestamp, snapshot, targets

  /// Brings roots, timestamp, snapshot and targets up to date.
  ///
  /// A publisher can replace keys after this client has asked for roots. What the new keys have
  /// signed is then invalid under the root that the client has, so it starts from the new root.
  private func update(_ trusted: inout TrustedMetadata, _ now: Date) throws -> TargetsRole {
    while true {
      do {
        // Of one server, so that it need not be asked of all whether there is a newer root.
        try fetcher.fromServers { server in
          try followRoots(&trusted, at: server)
          try trusted.checkRootExpiry(now: now)
          if trusted.timestamp == nil { try restore(&trusted) }
          try updateTimestamp(&trusted, now, at: server)
          try trusted.checkExpiry(now: now)
        }
        try updateSnapshot(&trusted, now)
        return try updateTargets(&trusted, now)
      } catch let error as ContentError where error.code == .signatureInvalid {
        let version = trusted.root.version
        try fetcher.fromServers { try followRoots(&trusted, at: $0) }
        guard trusted.root.version > version else { throw error }
      }
    }
  }

  private func updateTimestamp(
    _ trusted: inout TrustedMetadata, _ now: Date, at server: MetadataServer
  ) throws {
    let path = "metadata/\(RoleName.timestamp.fileName)"
    guard let bytes = try server.fetch(.timestamp, at: path) else {
      throw ContentError.storeMissing(path)
    }
    if try trusted.update(timestamp: bytes, now: now) {
      try folder.replace(.timestamp, with: bytes)
    }
  }

  private func updateSnapshot(_ trusted: inout TrustedMetadata, _ now: Date) throws {
    if trusted.snapshot != nil { return }
    if let kept = try folder.metadata(.snapshot),
      (try? trusted.update(snapshot: kept, now: now)) != nil
    {
      return
    }
    guard let promise = trusted.timestamp?.snapshot else { return }
    let (bytes, _) = try fetch(
      .snapshot, promise, limit: Self.snapshotLimit,
      consistent: trusted.root.usesConsistentSnapshots
    ) { try trusted.update(snapshot: $0, now: now) }
    try folder.replace(.snapshot, with: bytes)
  }

  private func updateTargets(_ trusted: inout TrustedMetadata, _ now: Date) throws -> TargetsRole {
    if let targets = trusted.targets { return targets }
    if let kept = try folder.metadata(.targets),
      (try? trusted.update(targets: kept, now: now)) != nil, let targets = trusted.targets
    {
      return targets
    }
    if let promise = trusted.snapshot?.targets {
      let (bytes, _) = try fetch(
        .targets, promise, limit: RoleName.targets.limit,
        consistent: trusted.root.usesConsistentSnapshots
      ) { try trusted.update(targets: $0, now: now) }
      try folder.replace(.targets, with: bytes)
    }
    guard let targets = trusted.targets else {
      throw ContentError(.inconsistent, "A refresh ended without targets", remedy: "Report it")
    }
    return targets
  }

  // MARK: Fetching

  /// The file that is promised, and what `verify` makes of it, from the first server that has it.
  private func fetch<Value>(
    _ role: MetadataName, _ promise: MetadataFile, limit: Int64, consistent: Bool,
    verify: ([UInt8]) throws -> Value
  ) throws -> ([UInt8], Value) {
    let path = "metadata/\(consistent ? "\(promise.version)." : "")\(role.encodedFileName)"
    return try fetcher.fromServers { server in
      do {
        let limit = min(promise.length ?? limit, role.limit)
        if let bytes = try server.fetch(path, limit: limit) { return (bytes, try verify(bytes)) }
      } catch let error as ContentError where error.code == .limitExceeded {
        guard let length = promise.length, length <= role.limit else {
          throw ContentError.metadataTooLong(role, limit: min(limit, role.limit))
        }
        throw ContentError.digestMismatch(role.fileName, "it has more than \(length) bytes")
      }
      throw ContentError.storeMissing(path)
    }
  }
}

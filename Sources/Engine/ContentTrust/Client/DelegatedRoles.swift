import ContentModel
import Digests
import FoundationEssentials
import Concurrency

/// Reads the roles that targets delegate to, and the records of products.
///
/// From memory, from the trust folder, or from the store. May be used from any thread; methods
/// block.
final class DelegatedRoles: Sendable {
  private let metadata: Mutex<TrustedMetadata>
  // Each role and record is fetched once, by the first of the threads that need it.
  private let fetches = KeyedLock<String>()
  private let folder: TrustFolder?
  let fetcher: any MetadataFetcher
  /// The time at which roles must be valid; nil for roles of an earlier run, which may be older
  /// than the snapshot.
  private let time: Date?

  /// Reads roles that the snapshot in `metadata` lists.
  init(
    _ metadata: TrustedMetadata, folder: TrustFolder?, fetcher: any MetadataFetcher, time: Date?
  ) {
    self.metadata = Mutex(metadata)
    self.folder = folder
    self.fetcher = fetcher
    self.time = time
  }

  /// The same roles and records, without fetching.
  var kept: DelegatedRoles {
    DelegatedRoles(trusted, folder: folder, fetcher: NoServer(), time: time)
  }

  /// The metadata with the roles that were read.
  var trusted: TrustedMetadata { metadata.withLock { $0 } }

  /// Returns the role `name`, for which `delegator` is trusted.
  ///
  /// `check` can refuse a role that was not read before. What it refuses is not kept.
  func role(
    _ name: String, for delegator: Delegator, check: (TargetsRole) throws -> Void = { _ in }
  ) throws -> TargetsRole {
    guard let time else { return try earlierRole(name, for: delegator, check: check) }
    func known() throws -> TargetsRole? {
      try trusted.trustedRole(name, for: delegator, now: time)
    }
    if let role = try known() { return role }
    return try fetches.withLock(for: name) {
      try known() ?? read(name, for: delegator, time, check)
    }
  }

  private func read(
    _ name: String, for delegator: Delegator, _ time: Date, _ check: (TargetsRole) throws -> Void
  ) throws -> TargetsRole {
    // Verified without the lock, so that threads that read different roles do not wait.
    let trusted = trusted
    return try fetcher.fetch(.delegated(name), listedIn: trusted, keptIn: folder) { bytes in
      let found = try trusted.role(name, in: bytes, for: delegator, now: time)
      try check(found.role)
      metadata.withLock { $0.keep(found, for: delegator) }
      return found.role
    }
  }

  /// Returns a role of an earlier run, to see what existed; only its signatures are checked.
  private func earlierRole(
    _ name: String, for delegator: Delegator, check: (TargetsRole) throws -> Void
  ) throws -> TargetsRole {
    if let bytes = try folder?.metadata(.delegated(name)) {
      let found = try SignedMetadata<TargetsRole>(bytes, as: .delegated(name))
      try found.checkSignatures(by: delegator.signers(of: name))
      // It may be from before the number of bins grew.
      if (try? check(found.role)) != nil { return found.role }
    }
    throw ContentError.storeMissing(MetadataName.delegated(name).fileName)
  }

  // MARK: Records

  /// Returns the record's bytes, from the trust folder or from `fetch`, and keeps them unless the
  /// store is local.
  func record(
    of product: ProductIdentifier, _ digest: Digest?, fetch: () throws -> [UInt8]
  ) throws -> [UInt8] {
    guard let folder, !fetcher.isLocal else { return try fetch() }
    return try fetches.withLock(for: StorePath.entry(product)) {
      if let kept = try keptRecord(of: product, digest) { return kept }
      let bytes = try fetch()
      try folder.replaceRecord(of: product, with: bytes)
      return bytes
    }
  }

  /// Returns the record's bytes from the trust folder; nil if they are not there.
  func keptRecord(of product: ProductIdentifier, _ digest: Digest?) throws -> [UInt8]? {
    guard let digest, let kept = try folder?.record(of: product), try Digest(of: kept) == digest
    else { return nil }
    return kept
  }
}

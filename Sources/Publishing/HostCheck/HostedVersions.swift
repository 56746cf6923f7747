package import HostedCatalog
import HostedModel
import HostedTrust
import FoundationEssentials

/// The numbers of a store's newest metadata on a host, to recover the publisher's files.
///
/// Only what the publisher's keys have signed counts, even if it has expired.
package struct HostedVersions: Hashable, Sendable {
  package let timestamp: Int64
  /// The number of the snapshot that the timestamp names.
  package let snapshot: Int64
  /// The number of the targets that the snapshot lists.
  package let targets: Int64
  /// The names of all files that the snapshot lists.
  package let files: Set<String>

  /// Reads timestamp and snapshot of the store at `location`; blocks.
  ///
  /// `root` is the newest root that the publisher has. Throws `storeRolledBack` if the host has a
  /// later one, `storeMissing` if a file does not exist, and an error of the group trust for
  /// metadata that this root's keys have not signed; each names the file.
  package init(
    at location: StoreLocation, root: [UInt8], network: NetworkSettings = NetworkSettings()
  ) throws {
    let host = Host(
      store: try StoreAccess(StoreReader(location, network: network)), name: location.description)
    defer { host.store.close() }
    var trusted = try TrustedMetadata(root: root)
    try host.checkRoots(after: trusted)
    try host.read(MetadataName.timestamp.path(), limit: RoleName.timestamp.limit) {
      _ = try trusted.update(timestamp: $0, now: .distantPast)
    }
    let promise = trusted.timestamp?.snapshot
    let version = trusted.root.usesConsistentSnapshots ? promise?.version : nil
    try host.read(
      MetadataName.snapshot.path(version: version),
      limit: min(
        promise?.length ?? MetadataLimits.unlistedSnapshotLength, RoleName.snapshot.limit)
    ) {
      try trusted.update(snapshot: $0, now: .distantPast)
    }
    guard let timestamp = trusted.timestamp, let snapshot = trusted.snapshot else {
      throw ContentError(
        .inconsistent, "No metadata after reading \(host.name)", remedy: "Report a bug")
    }
    self.timestamp = timestamp.version
    self.snapshot = snapshot.version
    targets = snapshot.targets.version
    files = Set(snapshot.files.keys)
  }
}

/// The files of a store on a host, which are not trusted.
private struct Host {
  let store: StoreAccess
  /// For messages.
  let name: String

  /// Throws `storeRolledBack`, with their paths, if the host has roots after `trusted`.
  ///
  /// They are not copied to the publisher's store: that would change whose signatures it accepts,
  /// and the keys of the backup could not sign under them.
  func checkRoots(after trusted: TrustedMetadata) throws {
    var newest = trusted
    var missing: [String] = []
    for _ in 0..<MetadataLimits.rootSteps {
      let path = MetadataName.root.path(version: newest.root.version + 1)
      let exists = try find(path, limit: RoleName.root.limit) { try newest.update(root: $0) }
      guard exists else { break }
      missing.append(path)
    }
    guard let last = missing.last else { return }
    throw ContentError(
      .storeRolledBack,
      "\(name) has roots that the store does not have: \(missing.joined(separator: ", "))",
      remedy: "If you changed keys after the backup, copy these files from the host to the store's "
        + "folder, and restore the keys of that time. If you did not, the root keys are stolen",
      subject: last)
  }

  /// Calls `accept` with the file at `path`; throws `storeMissing` if it does not exist.
  func read(_ path: String, limit: Int64, _ accept: ([UInt8]) throws -> Void) throws {
    guard try !find(path, limit: limit, accept) else { return }
    throw ContentError(
      .storeMissing, "\(name) does not have \(path)",
      remedy: "Check the URL. Use a host that has the store's newest metadata", subject: name)
  }

  /// Calls `accept` with the file at `path`; returns false if it does not exist.
  private func find(_ path: String, limit: Int64, _ accept: ([UInt8]) throws -> Void) throws
    -> Bool
  {
    do {
      guard let bytes = try store.fetch(path, limit: limit) else { return false }
      try accept(bytes)
      return true
    } catch let error as ContentError where error.group == .trust || error.code == .limitExceeded {
      throw ContentError(
        error.code, "Cannot use \(path) of \(name): \(error.message)",
        remedy: "Find out who wrote this file. Use a host whose metadata the store's keys have "
          + "signed", subject: name, cause: error.cause)
    }
  }
}

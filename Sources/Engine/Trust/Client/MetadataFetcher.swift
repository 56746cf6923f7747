package import HostedFileIO
import HostedModel

/// Reads the files of a store.
///
/// Methods block. They can be called from any thread, and by several threads at once.
package protocol MetadataFetcher: Sendable {
  /// Returns all bytes of the file at `path`, or nil if the store does not have the file.
  ///
  /// `path` is relative to the store and uses `/`. Names of delegated roles in it are already
  /// percent-encoded; names of targets are not. Throws `limitExceeded`, without reading on, as soon
  /// as the file has more than `limit` bytes.
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]?

  /// The servers that have the same files, in the order in which they are asked. Not empty.
  var servers: [any MetadataFetcher] { get }

  /// Whether the store is on this machine, so that copies of its records save nothing.
  var isLocal: Bool { get }

  /// The same store, but a request fails at once, because another server can be asked.
  var withoutRetries: any MetadataFetcher { get }
}

/// Reads a store in a local folder; it does not follow symbolic links below the folder.
package struct FolderFetcher: MetadataFetcher {
  private let folder: Directory

  package init(_ folder: Directory) { self.folder = folder }

  package func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    let components = path.pathComponents(omittingEmpty: false)
    return try nilIf(.fileMissing) {
      try folder.directory(at: components.dropLast())
        .contents(of: components.last ?? "", limit: limit)
    }
  }
}

extension MetadataFetcher {
  package var servers: [any MetadataFetcher] { [self] }

  package var isLocal: Bool { false }

  package var withoutRetries: any MetadataFetcher { self }

  /// Returns the result of `read` for the first server with which it succeeds.
  ///
  /// `read` fetches from the given server and verifies the files, so that a server with wrong, old
  /// or missing files is skipped. Each server is asked once, and the last one is retried. Then the
  /// servers with a temporary failure are asked again, with retries. Throws `storeMissing` if all
  /// servers report it, otherwise the first other error.
  func fromServers<Value>(_ read: (any MetadataFetcher) throws -> Value) throws -> Value {
    let servers = servers
    var failures: [ContentError] = []
    func ask(_ server: any MetadataFetcher, retries: Bool) throws -> Value? {
      do {
        return try read(retries ? server : server.withoutRetries)
      } catch let error as ContentError where error.isOfServer {
        failures.append(error)
        return nil
      }
    }
    for (index, server) in servers.enumerated() {
      let isLast = index == servers.count - 1
      if let value = try ask(server, retries: isLast) { return value }
    }
    for (server, failure) in zip(servers.dropLast(), failures) where failure.mayBeTemporary {
      if let value = try ask(server, retries: true) { return value }
    }
    throw failures.first { $0.code != .storeMissing } ?? failures.first
      ?? ContentError(.inconsistent, "The store has no servers", remedy: "Report a bug")
  }

  /// Returns the file of `role` at `path`, if no other metadata has its length.
  func fetch(_ role: MetadataName, at path: String) throws -> [UInt8]? {
    do {
      return try fetch(path, limit: role.limit)
    } catch let error as ContentError where error.code == .limitExceeded {
      throw ContentError.metadataTooLong(role, limit: role.limit)
    }
  }

  /// Returns the result of `verify` for the file of `role` that `trusted` lists.
  ///
  /// If `verify` refuses the file in `folder`, the file comes from the first server whose file it
  /// accepts, and is kept in `folder`.
  func fetch<Value>(
    _ role: MetadataName, listedIn trusted: TrustedMetadata, keptIn folder: TrustFolder?,
    verify: ([UInt8]) throws -> Value
  ) throws -> Value {
    let promise = try trusted.promise(of: role)
    if let kept = try folder?.metadata(role), let value = try? verify(kept) { return value }
    let path = role.path(
      version: trusted.root.usesConsistentSnapshots ? promise.version : nil)
    let unlisted = role == .snapshot ? MetadataLimits.unlistedSnapshotLength : role.limit
    let limit = min(promise.length ?? unlisted, role.limit)
    let (bytes, value): ([UInt8], Value) = try fromServers { server in
      do {
        if let bytes = try server.fetch(path, limit: limit) { return (bytes, try verify(bytes)) }
      } catch let error as ContentError where error.code == .limitExceeded {
        throw promise.length == limit
          ? ContentError.digestMismatch(role.fileName, "it has more than \(limit) bytes")
          : ContentError.metadataTooLong(role, limit: limit)
      }
      throw ContentError.storeMissing(path)
    }
    try folder?.replace(role, with: bytes)
    return value
  }
}

/// A store that cannot be reached.
struct NoServer: MetadataFetcher {
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? { nil }
}

extension ContentError {
  /// Whether another server may succeed.
  fileprivate var isOfServer: Bool {
    code == .timedOut || [.network, .server, .trust].contains(group)
  }

  /// Whether the same server may succeed later.
  fileprivate var mayBeTemporary: Bool { isRetryable && code != .storeMissing && group != .trust }
}

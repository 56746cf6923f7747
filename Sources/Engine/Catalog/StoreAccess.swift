import HostedModel
package import HostedTransfer
package import HostedTrust
package import HostedFileIO

/// Access to a store's files: in a folder, or on web servers that mirror each other.
///
/// The files are not trusted. May be used from any thread; calls block.
package final class StoreAccess: Sendable {
  private enum Backend: Sendable {
    case folder(path: String, FolderRate)
    case web(HTTPSession, mirrors: [WebURL])
  }

  private let backend: Backend
  private let trustsOnFirstUse: Bool
  private let fileSystem: FileSystem

  /// Accesses the files of the store and mirrors of `reader`; does not connect yet.
  ///
  /// Throws `usage` for mirrors unless store and mirrors are all on the web.
  package init(_ reader: StoreReader, fileSystem: FileSystem = .real) throws {
    trustsOnFirstUse = reader.trustsOnFirstUse
    self.fileSystem = fileSystem
    switch reader.store.place {
    case .folder(let path):
      guard reader.mirrors.isEmpty else { throw ContentError.noMirror(of: reader.store) }
      backend = .folder(path: path, FolderRate(reader.network.limits))
    case .web(let url):
      let others = try reader.mirrors.map { mirror in
        guard case .web(let url) = mirror.place else {
          throw ContentError.noMirror(of: reader.store)
        }
        return url
      }
      let servers = [url] + others
      backend = .web(try reader.network.session(for: servers), mirrors: servers)
    }
  }

  /// Ends running transfers; their callers get `stopped`.
  package func close() {
    if case .web(let session, _) = backend { session.close() }
  }

  /// The limits for concurrent transfers and their rate.
  package var limits: TransferLimits {
    get {
      switch backend {
      case .folder(_, let rate): rate.limits
      case .web(let session, _): session.limits
      }
    }
    set {
      switch backend {
      case .folder(_, let rate): rate.limits = newValue
      case .web(let session, _): session.limits = newValue
      }
    }
  }

  /// Returns the source of pieces; throws `storeMissing` if the store's folder does not exist.
  ///
  /// On the web, files have the URLs of `authorizer`, if it has some.
  package func pieceSource(_ authorizer: (any ContentAuthorizer)? = nil) throws -> any PieceSource {
    switch backend {
    case .folder(let path, let rate): FolderPieceSource(store: try folder(path), rate: rate)
    case .web(let session, let mirrors):
      try HTTPPieceSource(session, mirrors: mirrors, authorizer: authorizer)
    }
  }

  /// Returns the store's own root, `metadata/1.root.json`; nil if it does not exist.
  ///
  /// On the web, it is used only with trust on first use.
  func ownRoot() throws -> [UInt8]? {
    switch backend {
    case .web where !trustsOnFirstUse: nil
    case .web, .folder: try TrustClient.firstRoot(of: self)
    }
  }

  /// Opens the store's folder; at each use, because it may disappear and come back.
  private func folder(_ path: String) throws -> Directory {
    do {
      let folder = try fileSystem.directory(at: path)
      if try folder.status(of: MetadataName.folder)?.kind == .directory { return folder }
    } catch let error as ContentError where error.code == .fileMissing {}
    throw ContentError(
      .storeMissing, "Cannot open the store at \(path): metadata not found",
      remedy: "Check the path, or create a store there", subject: path)
  }
}

extension StoreAccess: MetadataFetcher {
  package func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    switch backend {
    case .folder(let root, _): try FolderFetcher(folder(root)).fetch(path, limit: limit)
    case .web(let session, let mirrors):
      try WebFetcher(session: session, mirror: mirrors[0]).fetch(path, limit: limit)
    }
  }

  package var isLocal: Bool { if case .folder = backend { true } else { false } }

  package var servers: [any MetadataFetcher] {
    switch backend {
    case .folder: [self]
    case .web(let session, let mirrors):
      session.ordered(mirrors).map { WebFetcher(session: session, mirror: $0) }
    }
  }
}

/// Fetches a store's files from one web server.
private struct WebFetcher: MetadataFetcher {
  let session: HTTPSession
  let mirror: WebURL
  /// The maximum number of attempts; nil is that of the session.
  var attempts: Int?

  var withoutRetries: any MetadataFetcher {
    WebFetcher(session: session, mirror: mirror, attempts: 1)
  }

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    // Without Cache-Control from the publisher, a cache may keep files that change under the same
    // name, or the response that a root does not exist yet.
    let isVolatile = path.hasSuffix("/timestamp.json") || path.hasSuffix(".root.json")
    return try session.contents(
      of: path, at: mirror, limit: Int(clamping: limit), attempts: attempts,
      headers: isVolatile ? [HTTPHeader("Cache-Control", "no-cache")] : [])
  }
}

extension ContentError {
  fileprivate static func noMirror(of store: StoreLocation) -> ContentError {
    ContentError(
      .usage, "Mirrors are supported only for web stores: \(store) or a mirror is a folder",
      remedy: "Give http:// or https:// URLs for the store and its mirrors",
      subject: store.description)
  }
}

import ContentModel
import ContentTransfer
import ContentTrust
import FileIO

/// The way to a store's files: a folder, or web servers that mirror each other.
///
/// Nothing that comes this way is trusted. May be used from any thread; its calls block.
final class StoreAccess: Sendable {
  private enum Way: Sendable {
    case folder(path: String, FolderRate)
    case web(HTTPSession, mirrors: [WebURL])
  }

  private let way: Way
  private let trustsOnFirstUse: Bool
  private let fileSystem: FileSystem

  /// Reaches nobody yet; throws `usage` for mirrors of another kind than the store.
  init(
    _ store: StoreLocation, mirrors: [StoreLocation] = [],
    network: NetworkSettings = NetworkSettings(), trustsOnFirstUse: Bool = false,
    fileSystem: FileSystem = .real
  ) throws {
    self.trustsOnFirstUse = trustsOnFirstUse
    self.fileSystem = fileSystem
    switch store.place {
    case .folder(let path):
      guard mirrors.isEmpty else { throw ContentError.noMirror(of: store) }
      way = .folder(path: path, FolderRate(network.limits))
    case .web(let url):
      let others = try mirrors.map { mirror in
        guard case .web(let url) = mirror.place else { throw ContentError.noMirror(of: store) }
        return url
      }
      let servers = [url] + others
      way = .web(try network.session(for: servers), mirrors: servers)
    }
  }

  /// Ends what is under way; whoever waits gets `stopped`.
  func close() {
    if case .web(let session, _) = way { session.close() }
  }

  /// How much is transferred at once, and how fast.
  var limits: TransferLimits {
    get {
      switch way {
      case .folder(_, let rate): rate.limits
      case .web(let session, _): session.limits
      }
    }
    set {
      switch way {
      case .folder(_, let rate): rate.limits = newValue
      case .web(let session, _): session.limits = newValue
      }
    }
  }

  /// Where pieces come from; throws `storeMissing` when the store's folder is not there.
  func pieceSource() throws -> any PieceSource {
    switch way {
    case .folder(let path, let rate): FolderPieceSource(store: try folder(path), rate: rate)
    case .web(let session, let mirrors): try HTTPPieceSource(session, mirrors: mirrors)
    }
  }

  /// The root that the store vouches for itself: `metadata/1.root.json`; nil when there is none.
  ///
  /// Only a local store's is taken, unless the first use is trusted.
  func ownRoot() throws -> [UInt8]? {
    switch way {
    case .web where !trustsOnFirstUse: nil
    case .web, .folder: try TrustClient.firstRoot(of: self)
    }
  }

  /// The store's folder, opened when it is needed, since it may come back after it was gone.
  private func folder(_ path: String) throws -> Directory {
    do {
      let folder = try fileSystem.directory(at: path)
      if try folder.status(of: "metadata")?.kind == .directory { return folder }
    } catch let error as ContentError where error.code == .fileMissing {}
    throw ContentError(
      .storeMissing, "Cannot open the store at \(path): metadata not found",
      remedy: "Check the path. Run hostedcontent store init to create a store", subject: path)
  }
}

extension StoreAccess: MetadataFetcher {
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    switch way {
    case .folder(let root, _): try FolderFetcher(folder(root)).fetch(path, limit: limit)
    case .web(let session, let mirrors):
      try WebFetcher(session: session, mirror: mirrors[0]).fetch(path, limit: limit)
    }
  }

  var servers: [any MetadataFetcher] {
    switch way {
    case .folder: [self]
    case .web(let session, let mirrors):
      session.ordered(mirrors).map { WebFetcher(session: session, mirror: $0) }
    }
  }
}

/// A store's files at one of its web servers.
private struct WebFetcher: MetadataFetcher {
  let session: HTTPSession
  let mirror: WebURL

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    try contents(path, limit, attempts: nil)
  }

  func fetchOnce(_ path: String, limit: Int64) throws -> [UInt8]? {
    try contents(path, limit, attempts: 1)
  }

  private func contents(_ path: String, _ limit: Int64, attempts: Int?) throws -> [UInt8]? {
    // Without an order of the publisher's, a cache may keep what changes under the same name, and
    // that a root does not exist yet.
    let isVolatile = path.hasSuffix("/timestamp.json") || path.hasSuffix(".root.json")
    return try session.contents(
      of: path, at: mirror, limit: Int(clamping: limit), attempts: attempts,
      headers: isVolatile ? [HTTPHeader("Cache-Control", "no-cache")] : [])
  }
}

extension ContentError {
  fileprivate static func noMirror(of store: StoreLocation) -> ContentError {
    ContentError(
      .usage, "A mirror of \(store) is not on the web, or the store is not",
      remedy: "Give http:// or https:// URLs for the store and its mirrors",
      subject: store.description)
  }
}

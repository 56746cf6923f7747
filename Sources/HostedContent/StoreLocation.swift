import ContentModel
import ContentTransfer
import ContentTrust
import FileIO
public import FoundationEssentials

/// Where a store is: a folder, or a `file://` URL of one.
public struct StoreLocation: Hashable, Sendable {
  /// The folder's path.
  let path: String

  /// Reads a path or a URL; throws `usage` for a scheme that is not read.
  public init(_ text: String) throws {
    guard let colon = text.firstRange(of: "://") else {
      guard !text.isEmpty, !text.utf8.contains(0) else { throw Self.unreadable(text) }
      path = text
      return
    }
    guard text[..<colon.lowerBound].lowercased() == "file", let url = URL(string: text),
      url.host() == nil || url.host() == "" || url.host() == "localhost"
    else { throw Self.unreadable(text) }
    path = url.path(percentEncoded: false)
  }

  /// Takes a file URL.
  public init(_ url: URL) throws {
    try self.init(url.isFileURL ? url.absoluteString : url.relativeString)
  }

  private static func unreadable(_ text: String) -> ContentError {
    ContentError(
      .usage, "“\(text.prefix(200))” is no store that can be read",
      remedy: "Name a folder or a file:// URL", subject: String(text.prefix(200)))
  }

  /// Opens the store's folder; throws `storeMissing` when there is none.
  func folder() throws -> Directory {
    do {
      let folder = try FileSystem.real.directory(at: path)
      if try folder.status(of: "metadata")?.kind == .directory { return folder }
    } catch let error as ContentError where error.code == .fileMissing {}
    throw ContentError(
      .storeMissing, "There is no store at \(path)",
      remedy: "Check the path, or make one with hostedcontent store init", subject: path)
  }

  func pieceSource() throws -> any PieceSource { FolderPieceSource(store: try folder()) }

  /// The root that a local store vouches for itself: `metadata/1.root.json`; nil when absent.
  func ownRoot() throws -> [UInt8]? {
    try StoreFetcher(store: self).fetch("metadata/1.root.json", limit: 512 << 10)
  }
}

/// Metadata of a store that is opened when it is needed, since it may come back after it was gone.
struct StoreFetcher: MetadataFetcher {
  let store: StoreLocation

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    try FolderFetcher(store.folder()).fetch(path, limit: limit)
  }
}

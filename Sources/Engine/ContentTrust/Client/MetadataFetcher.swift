import ContentModel
package import FileIO

/// Where a store's files come from.
///
/// Called from any thread, blocks, may be called by several threads at once.
package protocol MetadataFetcher: Sendable {
  /// All bytes of the file at `path` below the store, components separated by `/`; nil when it is
  /// not there.
  ///
  /// Names of delegated roles are percent-encoded in it already, names of targets are not.
  /// Throws `limitExceeded` as soon as there are more than `limit` bytes, without reading on.
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]?

  /// The servers that have the same files, in the order in which they are asked; not empty.
  var servers: [any MetadataFetcher] { get }

  /// As `fetch`, but gives up after the first failure, since another server can be asked.
  func fetchOnce(_ path: String, limit: Int64) throws -> [UInt8]?
}

extension MetadataFetcher {
  package var servers: [any MetadataFetcher] { [self] }

  package func fetchOnce(_ path: String, limit: Int64) throws -> [UInt8]? {
    try fetch(path, limit: limit)
  }
}

/// A store in a local folder; follows no link below it.
package struct FolderFetcher: MetadataFetcher {
  private let folder: Directory

  /// Reads below `folder`.
  package init(_ folder: Directory) { self.folder = folder }

  package func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    let components = path.pathComponents(omittingEmpty: false)
    do {
      let parent = try folder.directory(at: components.dropLast())
      return try parent.contents(of: components.last ?? "", limit: limit)
    } catch let error as ContentError where error.code == .fileMissing {
      return nil
    }
  }
}

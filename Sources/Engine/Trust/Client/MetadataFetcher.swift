import HostedModel
package import HostedFileIO

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

extension MetadataFetcher {
  package var servers: [any MetadataFetcher] { [self] }

  package var isLocal: Bool { false }

  package var withoutRetries: any MetadataFetcher { self }
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

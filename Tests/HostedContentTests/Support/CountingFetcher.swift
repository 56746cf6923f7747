import HostedConcurrency
import HostedTrust
import HostedFileIO

/// A store in a folder that records what is fetched.
final class CountingFetcher: MetadataFetcher {
  private let fetcher: FolderFetcher
  private let paths = Mutex<[String]>([])

  init(_ folder: Directory) { fetcher = FolderFetcher(folder) }

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    paths.withLock { $0.append(path) }
    return try fetcher.fetch(path, limit: limit)
  }

  /// Returns the paths that were fetched since the last call, in order.
  func takePaths() -> [String] {
    paths.withLock { paths in
      defer { paths = [] }
      return paths
    }
  }

  /// Returns how many paths with `suffix` were fetched since the last call.
  func takeCount(of suffix: String) -> Int { takePaths().count { $0.hasSuffix(suffix) } }
}

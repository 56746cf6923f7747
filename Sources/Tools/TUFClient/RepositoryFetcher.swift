import HostedModel
import HostedTransfer
import HostedTrust
import HostedFileIO
import FoundationEssentials

/// Fetches files below a base URL; blocks.
struct RepositoryFetcher: MetadataFetcher {
  private let place: Place

  private enum Place {
    case web(String, HTTPSession)
    case folder(Directory)
  }

  /// Creates a fetcher for an `http`, `https` or `file` URL of a folder.
  init(_ url: String) throws {
    var base = url
    while base.hasSuffix("/") { base.removeLast() }
    if let file = URL(string: base), file.isFileURL {
      place = .folder(try FileSystem.real.directory(at: file.path(percentEncoded: false)))
    } else {
      _ = try WebURL(base)
      var configuration = HTTPConfiguration()
      configuration.proxy = .environment(ProxyVariables(ProcessInfo.processInfo.environment))
      place = .web(base, try HTTPSession(configuration, pauses: .shared))
    }
  }

  /// Fetches a metadata file; its path begins with the name of the store's metadata folder.
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    let name = String(path.dropFirst("metadata/".count))
    return try fetch(encoded: name, plain: name, limit: limit)
  }

  /// Fetches the target at `path`, which is not percent-encoded; nil if it does not exist.
  func fetchTarget(_ path: String, limit: Int64) throws -> [UInt8]? {
    try fetch(encoded: PercentEncoding.path(path), plain: path, limit: limit)
  }

  private func fetch(encoded: String, plain: String, limit: Int64) throws -> [UInt8]? {
    switch place {
    case .folder(let folder): return try FolderFetcher(folder).fetch(plain, limit: limit)
    case .web(let base, let session):
      var request = TransferRequest(try WebURL("\(base)/\(encoded)"), limit: Int(clamping: limit))
      // Conformance suites observe the requests and expect each of them once.
      request.attempts = 1
      let response = try session.send(request)
      switch response.status {
      case 200: return response.body
      case 403, 404: return nil
      case let status:
        throw ContentError(
          .storeMissing, "The server answered \(status) to \(request.url)",
          remedy: "Try again later", subject: request.url.description)
      }
    }
  }
}

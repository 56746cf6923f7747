import ContentModel

/// One of the servers that have a store's files.
struct MetadataServer {
  fileprivate let fetcher: any MetadataFetcher
  fileprivate let retries: Bool

  /// As `MetadataFetcher.fetch`.
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    try retries ? fetcher.fetch(path, limit: limit) : fetcher.fetchOnce(path, limit: limit)
  }

  /// The file of `role` at `path`, whose length nobody promised.
  func fetch(_ role: MetadataName, at path: String) throws -> [UInt8]? {
    do {
      return try fetch(path, limit: role.limit)
    } catch let error as ContentError where error.code == .limitExceeded {
      throw ContentError.metadataTooLong(role, limit: role.limit)
    }
  }
}

extension MetadataFetcher {
  /// What `read` returns for the first server with which it succeeds.
  ///
  /// `read` fetches from the given server and verifies, so that a server with wrong, old or missing
  /// files makes room for the next one. Each server is asked once, the last one with retries; then,
  /// with retries, those whose failure may pass. Throws `storeMissing` if all servers say so, else
  /// the first other error.
  func fromServers<Value>(_ read: (MetadataServer) throws -> Value) throws -> Value {
    let servers = servers
    var failures: [ContentError] = []
    func ask(_ server: any MetadataFetcher, retries: Bool) throws -> Value? {
      do {
        return try read(MetadataServer(fetcher: server, retries: retries))
      } catch let error as ContentError where error.isOfServer {
        failures.append(error)
        return nil
      }
    }
    for (index, server) in servers.enumerated() {
      let isLast = index == servers.count - 1
      if let value = try ask(server, retries: isLast) { return value }
    }
    for (server, failure) in zip(servers.dropLast(), failures) where failure.mayPass {
      if let value = try ask(server, retries: true) { return value }
    }
    throw failures.first { $0.code != .storeMissing } ?? failures.first
      ?? ContentError(.inconsistent, "A store has no servers", remedy: "Report it")
  }
}

extension ContentError {
  /// Whether another server may do better.
  fileprivate var isOfServer: Bool {
    code == .timedOut || [.network, .server, .trust].contains(group)
  }

  /// Whether the same server may do better later.
  fileprivate var mayPass: Bool {
    isRetryable && code != .storeMissing && group != .trust
  }
}

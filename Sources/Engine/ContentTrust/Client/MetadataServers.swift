import ContentModel

/// One of the servers that have a store's files.
struct MetadataServer {
  fileprivate let fetcher: any MetadataFetcher
  fileprivate let retries: Bool

  /// Like `MetadataFetcher.fetch`.
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    try retries ? fetcher.fetch(path, limit: limit) : fetcher.fetchOnce(path, limit: limit)
  }

  /// Returns the file of `role` at `path`, if no other metadata has its length.
  func fetch(_ role: MetadataName, at path: String) throws -> [UInt8]? {
    do {
      return try fetch(path, limit: role.limit)
    } catch let error as ContentError where error.code == .limitExceeded {
      throw ContentError.metadataTooLong(role, limit: role.limit)
    }
  }
}

extension MetadataFetcher {
  /// Returns the result of `read` for the first server with which it succeeds.
  ///
  /// `read` fetches from the given server and verifies the files, so that a server with wrong, old
  /// or missing files is skipped. Each server is asked once, and the last one is retried. Then the
  /// servers with a temporary failure are asked again, with retries. Throws `storeMissing` if all
  /// servers report it, otherwise the first other error.
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
    for (server, failure) in zip(servers.dropLast(), failures) where failure.mayBeTemporary {
      if let value = try ask(server, retries: true) { return value }
    }
    throw failures.first { $0.code != .storeMissing } ?? failures.first
      ?? ContentError(.inconsistent, "The store has no servers", remedy: "Report a bug")
  }
}

extension MetadataFetcher {
  /// Returns the listed file and the result of `verify`, from the first server that has it.
  func fetch<Value>(
    _ role: MetadataName, _ promise: MetadataFile, limit: Int64, consistent: Bool,
    verify: ([UInt8]) throws -> Value
  ) throws -> ([UInt8], Value) {
    let path = role.path(version: consistent ? promise.version : nil)
    return try fromServers { server in
      do {
        let limit = min(promise.length ?? limit, role.limit)
        if let bytes = try server.fetch(path, limit: limit) { return (bytes, try verify(bytes)) }
      } catch let error as ContentError where error.code == .limitExceeded {
        guard let length = promise.length, length <= role.limit else {
          throw ContentError.metadataTooLong(role, limit: min(limit, role.limit))
        }
        throw ContentError.digestMismatch(role.fileName, "it has more than \(length) bytes")
      }
      throw ContentError.storeMissing(path)
    }
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

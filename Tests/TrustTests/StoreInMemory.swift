import HostedModel
import HostedTrust
import HostedConcurrency

/// A store in memory.
///
/// It records what was fetched.
final class StoreInMemory: MetadataFetcher {
  private struct State {
    var files: [String: [UInt8]] = [:]
    var fetched: [String] = []
  }

  private let state = Mutex(State())

  /// Adds or replaces files.
  func put(_ files: [String: [UInt8]]) {
    state.withLock { $0.files.merge(files) { $1 } }
  }

  func remove(_ path: String) { state.withLock { $0.files[path] = nil } }

  /// Returns what was fetched since the last call, in order.
  func takeFetched() -> [String] {
    state.withLock { state in
      defer { state.fetched = [] }
      return state.fetched
    }
  }

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    try state.withLock { state in
      state.fetched.append(path)
      guard let bytes = state.files[path] else { return nil }
      guard Int64(bytes.count) <= limit else {
        throw ContentError(.limitExceeded, "More than \(limit) bytes", remedy: "None")
      }
      return bytes
    }
  }
}

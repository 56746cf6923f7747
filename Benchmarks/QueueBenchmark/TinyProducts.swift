import HostedCSQLite
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency

/// Measures the rate from payment to finished transaction.
enum TinyProducts {
  /// Without `comparing`, only the queue runs, to count its system calls.
  static func withoutContent(_ path: String, _ count: Int, comparing: Bool = true) throws {
    try measure("products without content", path, count, InstantService(), comparing)
  }

  static func withContent(_ path: String, _ count: Int, comparing: Bool = true) async throws {
    let service = InstantService(offers: try await ManyDownloads.offers(path, count))
    try measure("products with tiny content", path, count, service, comparing)
  }

  private static func measure(
    _ what: String, _ path: String, _ count: Int, _ service: InstantService, _ isComparing: Bool
  ) throws {
    let operations = Mutex([FileOperation: Int]())
    var configuration = try ManyDownloads.configuration(
      path, library: "library-\(UUID().uuidString)")
    configuration.service = service
    configuration.fileSystem = FileSystem { operation, _ in
      operations.withLock { $0[operation, default: 0] += 1 }
    }
    let queue = try PaymentQueue(configuration)
    let observer = Deliverer { $0.removed == count }
    queue.add(observer)
    operations.withLock { $0 = [:] }
    let ours = try seconds {
      for number in 0..<count {
        queue.add(Payment(productIdentifier: try ManyDownloads.product(number)))
      }
      observer.wait()
    }
    let counted = operations.withLock { $0 }
    queue.close()
    guard isComparing else { return }
    let bare = try bareCommits("\(path)/bare-\(count).sqlite", count)
    let commits = Double(counted[.journal] ?? 0) / Double(count)
    let all = Double(counted.values.reduce(0, +)) / Double(count)
    print("\(count) \(what), seconds from payment to finished: \(ours.text(3))")
    print("\(count) \(what), journal commits a product: \(commits.text(3))")
    print("\(count) \(what), steps of the file system a product: \(all.text(1))")
    print("\(count) bare SQLite commits, seconds: \(bare.text(3)), ratio: \((ours / bare).text(2))")
  }

  /// The same number of equally durable commits of one row each.
  private static func bareCommits(_ path: String, _ count: Int) throws -> Double {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    let setUp = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a TEXT)"
    guard sqlite3_open(path, &handle) == SQLITE_OK,
      sqlite3_exec(handle, setUp, nil, nil, nil) == SQLITE_OK
    else { throw ContentError(.journalFailed, "Cannot open \(path)", remedy: "Check the path") }
    return seconds {
      for _ in 0..<count {
        sqlite3_exec(handle, "INSERT INTO t VALUES ('a transaction')", nil, nil, nil)
      }
    }
  }
}

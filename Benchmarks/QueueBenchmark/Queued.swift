import Foundation
import HostedContent
import HostedFileServer

/// Many started downloads that wait behind three active ones on a slow server.
enum Queued {
  static func run(_ path: String, _ count: Int) async throws {
    let few = try await measure("\(path)-10", 10)
    let many = try await measure("\(path)-\(count)", count)
    print("each of \(count) queued downloads: \((many - few) / (count - 10)) resident bytes")
  }

  private static func measure(_ path: String, _ count: Int) async throws -> Int {
    try Idle.fill(path, count)
    try FileManager.default.createDirectory(
      atPath: "\(path)-store", withIntermediateDirectories: true)
    let server = try FileServer(folder: "\(path)-store", faults: FaultScript("* latency 60s"))
    try server.start()
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: path), store: try StoreLocation(server.url))
    configuration.service = InstantService()
    let before = try Process.residentBytes()
    let queue = try PaymentQueue(configuration)
    let observer = Deliverer(acting: false) { $0.downloads >= 2 * count }
    queue.add(observer)
    for transaction in queue.transactions { queue.start(transaction.downloads) }
    observer.wait()
    let active = { queue.transactions.flatMap(\.downloads).filter { $0.state == .active }.count }
    let limit = configuration.maximumActiveDownloads
    // The memory of the first request, including loaded libraries, does not depend on the number.
    while active() < limit || server.requests.isEmpty {
      try await Task.sleep(for: .milliseconds(20))
    }
    let after = try Process.residentBytes()
    print(
      "\(count) queued downloads, \(active()) under way: \(after - before) resident bytes in all, "
        + "\(try Process.threads()) threads")
    defer { withExtendedLifetime(observer) {} }
    queue.close()
    server.stop()
    return after - before
  }
}

import HostedPackage
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency

/// Many concurrent downloads with three observers.
enum ManyDownloads {
  /// Creates a store of tiny products in `path`.
  static func publish(_ path: String, _ count: Int) throws {
    let folder = try FileSystem.real.directory(at: path, creating: true)
    let store = try StoreFolder.create(at: "\(path)/store")
    let packages = try (0..<count).map { number in
      let source = "\(path)/source/\(number)/Contents"
      try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
      try Data("The text of \(number)\n".utf8).write(to: URL(filePath: "\(source)/text"))
      _ = try buildPackage(
        folder: FileSystem.real.directory(at: "\(path)/source/\(number)"), output: folder,
        outputName: "\(number).pkg", productIdentifier: product(number),
        version: ContentVersion("1.0"))
      return "\(path)/\(number).pkg"
    }
    try store.publish(packages)
  }

  static func product(_ number: Int) throws -> ProductIdentifier {
    try ProductIdentifier(validating: "com.example.tiny.p\(number)")
  }

  /// Returns the offers of the store in `path`, by product.
  static func offers(_ path: String, _ count: Int) async throws
    -> [ProductIdentifier: [ContentOffer]]
  {
    let configuration = try configuration(path, library: "browse")
    let queue = try PaymentQueue(configuration)
    defer { queue.close() }
    let response = try await queue.products(Set((0..<count).map { "com.example.tiny.p\($0)" }))
    return Dictionary(
      uniqueKeysWithValues: response.products.map { ($0.productIdentifier, $0.contents) })
  }

  static func configuration(_ path: String, library: String) throws -> PaymentQueue.Configuration {
    PaymentQueue.Configuration(
      library: URL(filePath: "\(path)/\(library)"), store: try StoreLocation("\(path)/store"))
  }

  static func run(_ path: String, _ count: Int) async throws {
    let service = InstantService(offers: try await offers(path, count))
    for (number, limit) in [(10, 3), (count, 3), (10, 10), (count, count)] {
      try measure(path, number, limit: limit, service)
    }
  }

  private static func measure(_ path: String, _ count: Int, limit: Int, _ service: InstantService)
    throws
  {
    var configuration = try configuration(path, library: "library-\(count)-\(limit)")
    configuration.service = service
    configuration.maximumActiveDownloads = limit
    let queue = try PaymentQueue(configuration)
    let observers = (0..<3).map { number in
      Deliverer(acting: number == 0, keepingStates: true) { $0.removed == count }
    }
    observers.forEach(queue.add)
    let isOver = Atomic(false)
    let most = Mutex(0)
    let watcher = Thread {
      while !isOver.load(ordering: .relaxed) {
        let threads = (try? Process.threads()) ?? 0
        most.withLock { $0 = max($0, threads) }
        usleep(2_000)
      }
    }
    watcher.start()
    let elapsed = try seconds {
      for number in 0..<count { queue.add(Payment(productIdentifier: try product(number))) }
      observers.forEach { $0.wait() }
    }
    isOver.store(true, ordering: .relaxed)
    let name = "downloads, \(count) with \(limit) active at once"
    print("\(name), seconds: \(elapsed.text(2)), threads at most: \(most.withLock { $0 })")
    for (number, observer) in observers.enumerated() {
      let counts = observer.now
      let finished = counts.last.values.count { $0 == .finished }
      print(
        "\(name), observer \(number + 1): \(finished) seen finished, "
          + "\(counts.downloadCalls) calls, "
          + "\((Double(counts.downloadCalls) / elapsed).text(0)) a second, "
          + "\((Double(counts.downloads) / Double(count)).text(1)) reports a download")
    }
    queue.close()
  }
}

import HostedModel
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport

/// Downloads that each fit on a disk, but not all together.
package enum CrowdedDisk {
  private static let products = (1...8).map { "com.example.part\($0)" }
  private static let size = 2_500_000

  /// Downloads all products in parallel into a library on the disk at `disk`.
  ///
  /// Returns the problems.
  package static func run(_ world: World, disk: String) async throws -> [String] {
    try publish(to: world)
    let writers = Writers()
    var configuration = try world.configuration("library", writers.fileSystem)
    configuration.library = URL(filePath: "\(disk)/library")
    configuration.maximumActiveDownloads = products.count
    let queue = try PaymentQueue(configuration)
    defer { queue.close() }
    let failures = await attempt(queue, products)
    var problems = failures.values.filter { $0.code != .diskFull }.map { "unexpected error: \($0)" }
    // An error that occurred during a write has the system's message as its cause.
    problems += failures.values.filter { $0.cause != nil }.map { "failed during a write: \($0)" }
    let installed = products.count - failures.count
    if writers.count != installed {
      problems.append("\(writers.count) started, but \(installed) installed")
    }
    // 14 MB, of which a library takes a little more than one, and 4 MiB stay free.
    if installed != 3 { problems.append("\(installed) installed, expected 3") }
    for product in products {
      let isInstalled =
        try await queue.installedVersion(of: ProductIdentifier(validating: product)) != nil
      if isInstalled == (failures[product] != nil) { problems.append("\(product): \(isInstalled)") }
    }
    return try await problems + tryAgain(queue, failures.keys.sorted())
  }

  /// Removes a product, and checks that a download that did not fit now succeeds.
  private static func tryAgain(_ queue: PaymentQueue, _ failed: [String]) async throws -> [String] {
    guard let first = failed.first, let gone = products.first(where: { !failed.contains($0) })
    else { return ["none or all of the downloads failed"] }
    try await queue.remove(ProductIdentifier(validating: gone), version: ContentVersion("1.0"))
    return await attempt(queue, [first]).values.map { "with free space: \($0)" }
  }

  private static func attempt(_ queue: PaymentQueue, _ products: [String]) async
    -> [String: ContentError]
  {
    await withTaskGroup(of: (String, ContentError?).self) { group in
      for product in products {
        group.addTask {
          do {
            if let open = queue.transactions.first(where: {
              $0.payment.productIdentifier.rawValue == product
            }) {
              try await queue.complete(open)
            } else {
              _ = try await queue.deliver(
                Payment(productIdentifier: ProductIdentifier(validating: product)))
            }
            return (product, nil)
          } catch {
            return (product, ContentError(error, while: "getting \(product)"))
          }
        }
      }
      return await group.reduce(into: [:]) { failures, end in failures[end.0] = end.1 }
    }
  }

  private static func publish(to world: World) throws {
    let store = try StoreFolder.create(at: world.storePath)
    for (number, product) in products.enumerated() {
      var random = SplitMix(state: UInt64(number))
      let bytes = random.bytes(size)
      let source = URL(filePath: "\(world.path)/\(product)/Contents")
      try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
      try Data(bytes).write(to: source.appending(path: "film.bin"))
      let package = try World.build("\(world.path)/\(product)", product, "1.0", in: world.path)
      try store.publish([package])
    }
  }
}

/// Records which downloads have written files.
private final class Writers: Sendable {
  private let folders = Mutex<Set<String>>([])

  var count: Int { folders.withLock { $0.count } }

  var fileSystem: FileSystem {
    FileSystem { [self] operation, path in
      guard operation == .write, path.hasSuffix("film.bin") else { return }
      _ = folders.withLock { $0.insert(path) }
    }
  }
}

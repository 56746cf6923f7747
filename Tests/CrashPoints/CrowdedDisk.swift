import ContentModel
import ContentStore
import FileIO
import Foundation
import HostedContent
import Concurrency
import TestSupport

/// Downloads that all fit into a disk alone, but not together.
package enum CrowdedDisk {
  private static let products = (1...8).map { "com.example.part\($0)" }
  private static let size = 2_500_000

  /// Downloads all products at once into a library on the disk at `disk`, and says what was not as
  /// it must be.
  package static func run(_ world: World, disk: String) async throws -> [String] {
    try publish(to: world)
    let writers = Writers()
    var configuration = try world.configuration("library", writers.fileSystem)
    configuration.library = URL(filePath: "\(disk)/library")
    configuration.maximumActiveDownloads = products.count
    let queue = try PaymentQueue(configuration)
    defer { queue.close() }
    let failures = await attempt(queue, products)
    var problems = failures.values.filter { $0.code != .diskFull }.map { "another error: \($0)" }
    // An error that was found while something was written has its words as the cause.
    problems += failures.values.filter { $0.cause != nil }.map { "failed half-way: \($0)" }
    let installed = products.count - failures.count
    if writers.count != installed {
      problems.append("\(writers.count) were begun, and \(installed) installed")
    }
    // 14 MB, of which a library takes little more than one, and 4 MiB are kept free.
    if installed != 3 { problems.append("\(installed) were installed") }
    for product in products {
      let isInstalled =
        try queue.installedVersion(of: ProductIdentifier(validating: product)) != nil
      if isInstalled == (failures[product] != nil) { problems.append("\(product): \(isInstalled)") }
    }
    return try await problems + tryAgain(queue, failures.keys.sorted())
  }

  /// One that did not fit has room once another one is removed.
  private static func tryAgain(_ queue: PaymentQueue, _ failed: [String]) async throws -> [String] {
    guard let first = failed.first, let gone = products.first(where: { !failed.contains($0) })
    else { return ["nothing failed, or all"] }
    try await queue.remove(ProductIdentifier(validating: gone), ContentVersion("1.0"))
    return await attempt(queue, [first]).values.map { "with room: \($0)" }
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
      var bytes: [UInt8] = []
      while bytes.count < size { withUnsafeBytes(of: random.next()) { bytes += $0 } }
      let source = URL(filePath: "\(world.path)/\(product)/Contents")
      try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
      try Data(bytes).write(to: source.appending(path: "film.bin"))
      let package = try World.build("\(world.path)/\(product)", product, "1.0", in: world.path)
      try store.publish([package])
    }
  }
}

/// Notes which downloads have written something of their files.
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
